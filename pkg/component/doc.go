// Package component is what an operator author imports: the Component interface that their type satisfies, the Reconciler that applies
// its dependents, and the Engine beneath it.
package component
