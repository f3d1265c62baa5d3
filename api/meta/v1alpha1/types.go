package v1alpha1

// TypePattern names a type, or a family of types.
type TypePattern struct {
	// Group, "*" for all groups, or "*.suffix"; neither of the latter includes the groups of Kubernetes itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind, or "*".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}
