// Package render renders a source, or the component of a cluster, without an operator.
//
// The package uses the generator of the ready-made operator, so it renders the same objects as the operator. Without a
// cluster, it knows the scope (namespaced or not) only of built-in types and of types whose definition is rendered.
package render
