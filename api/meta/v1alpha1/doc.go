// Package v1alpha1 contains the types that operator authors embed in their own custom resource types: the status that a
// reconciler maintains, the policies of dependents, references to inputs, and the compact form of the inventory.
//
// +kubebuilder:object:generate=true
package v1alpha1
