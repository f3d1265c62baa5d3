package v1alpha1

// TypePattern matches one or several types by group and kind.
type TypePattern struct {
	// Group is the name of an API group, "*" for all groups, or "*.suffix" for all groups with a suffix. The patterns "*"
	// and "*.suffix" do not match the built-in groups of Kubernetes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind is the name of a kind, or "*" for all kinds.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}
