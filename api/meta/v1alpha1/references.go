package v1alpha1

// ReferenceKind is the kind of a referenced object.
// +kubebuilder:validation:Enum=Secret;ConfigMap
type ReferenceKind string

// The kinds that can be referenced.
const (
	SecretReference    ReferenceKind = "Secret"
	ConfigMapReference ReferenceKind = "ConfigMap"
)

// ValuesReference points at a document of values in a Secret or ConfigMap of the component's namespace.
type ValuesReference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// ValuesKey is the key that holds the values, as YAML; values.yaml by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ValuesKey string `json:"valuesKey,omitempty"`
	// Optional says that a missing object or key is no error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Reference names a Secret or ConfigMap in the component's namespace.
type Reference struct {
	// Kind is Secret or ConfigMap.
	Kind ReferenceKind `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Optional says that a missing object is no error.
	Optional bool `json:"optional,omitempty"`
	// Credential says that the content gives access to something, and does not matter to what is rendered: a change of it wakes the component,
	// but makes no revision, and renders nothing again that was rendered well.
	Credential bool `json:"credential,omitempty"`
}

// DefaultKubeConfigKey is the key that holds a kubeconfig where a reference names none.
const DefaultKubeConfigKey = "value"

// KubeConfigReference points at a kubeconfig in a Secret of the component's namespace.
type KubeConfigReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret; value by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
