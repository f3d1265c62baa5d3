// Package generator defines how the dependents of a component are rendered: a Generator gets the component's parameters and returns
// objects. The sub-packages helm, kustomize and gotemplate hold one engine each.
package generator
