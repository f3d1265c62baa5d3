// Package externalstate stores the states of dependents outside Kubernetes in Secrets with the names externals-<owner
// id>-<n>, which obey the rules of package records.
//
// The data of a Secret contains a value for each external, and an index: the owner, the name of the Secret, the number
// of its writes, and the digest of each value. An annotation contains the digest of the index. So an edited, copied,
// removed or restored value is recognised. A value that cannot be used is a Damage. It is never replaced, unless the
// caller names its key.
//
// Each write has the resource version of the Secret as precondition. So of two operator processes that write at the
// same time, one gets a conflict and has to load the states again.
//
// A state that grows too large for its Secret moves to a Secret with a higher number: the previous Secret gets a mark
// with that number, the other Secret gets the state, and the previous Secret loses the previous state. So a crash in
// between never loses the state, and the first write fences other processes.
//
// Rule: this package decides nothing about externals.
package externalstate
