// Package hookorder contains what the conversion of Helm hooks and the rules about orders of objects have in common:
// the orders of hooks, and the Services of the objects that make the API server call workloads.
//
// The rule: an order in the ranges of hooks, on an object with the annotation of a hook, was set by the conversion and
// not by an author. The package imports no other package of this repository.
package hookorder
