// Package causes finds why a dependent is not ready, from the warning events about the dependent itself.
//
// Memory decides when events are read: once for each generation of a dependent, and only if it was not ready for a
// while. So a rollout that ends in time costs no request, and a component that waits is not polled. Memory is pure: it
// gets the outcome of a pass and the time. Events reads, as the identity of the component. It is silent if the identity
// may not list events, because a cause only adds to a status.
package causes
