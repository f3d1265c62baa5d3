// Package protect finds the objects that a deletion would delete too: foreign instances of managed types, and the
// contents of namespaces. Kubernetes deletes all instances with their definition, and all objects with their namespace.
//
// Watches answer for the plan of a pass. Right before an object is deleted that holds others, Check lists again,
// because a watch may be late. An error is never an empty list: a type that cannot be listed blocks the deletion.
// Reads are made as the identity that watches, not as the component's, because they must not depend on its rights.
//
// It imports packages target, discovery, execute, inspect and plan, and decides nothing: plan does.
package protect
