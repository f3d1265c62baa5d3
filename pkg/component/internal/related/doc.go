// Package related contains the event source of the objects in a cluster that components are related to.
//
// A value is the part of the objects that counts. For each cluster and identity, an informer watches the objects for
// all components that use it.
//
// The package enforces four rules. A version wakes a component only if the part that counts, or the relation, is
// another one than the component saw last. Components share one request for an object whose body is not in memory. The
// write of a component does not wake that component. What a change of an object means is decided in versions, which has
// no lock, clock or client, and returns effects that the informer performs.
package related
