// Package gadget is an operator as an author would write it, with public packages only: a kind of its own, whose spec
// holds the manifests that a GeneratorFunc returns. Tests use it to put any set of dependents before the reconciler.
package gadget
