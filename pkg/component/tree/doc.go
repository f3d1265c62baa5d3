// Package tree reads the dependents of a component and their live state, without a reconciler.
//
// Inventory returns the recorded dependents of a component, and Read returns a Node for each of them. AddObserved,
// AddExternals, AddUnrecorded and AddFailures add what only the status of the component tells: objects that it
// observes, the states of dependents outside Kubernetes, dependents whose type is not served, and failed writes.
//
// The functions read with the rights of the caller, and write nothing.
package tree
