// Package protect finds the objects that a deletion would delete too: foreign instances of managed types, and the
// contents of namespaces. Kubernetes deletes all instances with their definition, and all objects with their namespace.
//
// A plan is made from watches. Right before a definition or a namespace is deleted, Check lists its instances or
// contents again, because a watch may be late. An error is never an empty list: a type that cannot be listed blocks the
// deletion. Reads are made as the identity that watches, not as the component's, because they must not depend on the
// rights of the component.
//
// It imports packages target, discovery, execute, inspect and plan, and decides nothing: package plan decides.
package protect
