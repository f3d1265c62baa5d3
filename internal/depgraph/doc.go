// Package depgraph resolves the dependencies between the objects of a set: the annotation depends-on, groups, and the
// values that objects use of each other.
//
// Resolve finds the objects that each dependency names, and sorts the set. CheckFlow finds cycles, and objects in waves
// that would wait for a later wave. Topological and ValueEdges are the same order for callers that have edges already.
// The time of each function is linear in the number of objects and edges.
//
// The package is pure: a set goes in, a sorted set and errors come out. It knows pkg/manifests and
// internal/builtintypes.
package depgraph
