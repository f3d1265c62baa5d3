package v1alpha1

// IgnoreRule names fields of dependents that are left to others: they have the values of the manifests when the
// dependent is created, and after that the values that other clients set.
type IgnoreRule struct {
	// Target selects the dependents. By default the rule applies to all dependents.
	// +optional
	Target *ObjectTarget `json:"target,omitempty"`

	// Paths of the fields, such as spec.replicas, spec.template.spec.containers[name=web].image, spec.ports[*].nodePort or
	// metadata.annotations["example.com/size"].
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Paths []string `json:"paths"`
}

// ObjectTarget selects dependents. All fields that are set must match. All fields except the selectors are regular
// expressions that must match the whole value, as in the target of a kustomize patch.
type ObjectTarget struct {
	// Group of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Version of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
	// Kind of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Kind string `json:"kind,omitempty"`
	// Namespace in which the objects are applied.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// Name of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// LabelSelector selects objects by labels of their manifests, such as app=web,tier!=cache.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LabelSelector string `json:"labelSelector,omitempty"`
	// AnnotationSelector selects objects by annotations of their manifests, such as app=web,tier!=cache.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}
