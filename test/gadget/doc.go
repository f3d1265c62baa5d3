// Package gadget is an operator as an author would write it, with public packages only. The spec of its kind Gadget
// contains the manifests that its generator returns. Tests use the operator to reconcile any set of dependents.
package gadget
