// Package ordering finds contradictions between the orders of the objects of a set, such as an instance that is applied
// before the definition of its type, or a namespace that is deleted before its content.
//
// Each rule is a function of one object and the index of the set; conflicts.go lists all rules. A rule returns an error
// that names both objects, both settings and the required change. Objects that depend on others belong to no wave, and
// have no such contradictions: see internal/depgraph.
//
// The package is pure. Its time is linear in the size of the set.
package ordering
