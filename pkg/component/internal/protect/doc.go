// Package protect finds objects that would be lost in a deletion although they do not belong to the component: foreign
// instances of managed types, and the contents of namespaces. Kubernetes deletes all instances with their definition,
// and all objects with their namespace.
//
// Plans use the state in the watches. A watch may be late, so right before a definition or a namespace is deleted,
// Check lists its instances or contents again. An error is not treated as an empty list: a type that cannot be listed
// blocks the deletion. All reads use the identity of the watches, not the identity of the component, because they must
// not depend on the rights of the component.
//
// The package leaves all decisions to package plan.
package protect
