// Package v1alpha1 contains the type Component of the ready-made Fairlead operator.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.io
package v1alpha1
