// Package v1alpha1 holds the Component type of the ready-made Fairlead operator.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.io
package v1alpha1
