// Package component is the public API for authors of operators: the Component interface that a custom resource type
// implements, the Reconciler that applies its dependents, and the Engine beneath it. The package declares types and
// wires the internal packages; it makes no decisions.
package component
