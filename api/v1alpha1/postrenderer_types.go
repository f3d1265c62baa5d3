package v1alpha1

// PostRenderer is one change of the rendered objects.
//
// +kubebuilder:validation:XValidation:rule="has(self.kustomize)",message="want kustomize"
type PostRenderer struct {
	// Kustomize changes them as a kustomization would.
	// +optional
	Kustomize *KustomizePostRenderer `json:"kustomize,omitempty"`
}

// KustomizePostRenderer holds the parts of a kustomization that change objects: patches first, then images, then common
// metadata.
type KustomizePostRenderer struct {
	// Patches are applied one after the other.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Patches []KustomizePatch `json:"patches,omitempty"`

	// Images replaces names, tags and digests of images.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Images []KustomizeImage `json:"images,omitempty"`

	// CommonMetadata is set on all objects.
	// +optional
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`
}

// KustomizePatch changes objects.
type KustomizePatch struct {
	// Patch is a strategic merge patch, or a list of JSON patch operations, as YAML.
	// +kubebuilder:validation:MinLength=1
	Patch string `json:"patch"`

	// Target says which objects are changed; without it the one that a strategic merge patch names.
	// +optional
	Target *PatchTarget `json:"target,omitempty"`
}

// PatchTarget selects objects: all fields that are set must match. Those but for the selectors are regular expressions.
type PatchTarget struct {
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
	// Namespace that the manifests name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// Name of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// LabelSelector selects by labels, such as app=web,tier!=cache.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LabelSelector string `json:"labelSelector,omitempty"`
	// AnnotationSelector selects by annotations, in the same form.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// KustomizeImage replaces an image by another.
type KustomizeImage struct {
	// Name of the image, without tag and digest.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name"`
	// NewName replaces the name.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	NewName string `json:"newName,omitempty"`
	// NewTag replaces the tag.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	NewTag string `json:"newTag,omitempty"`
	// Digest replaces the tag, or the digest.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Digest string `json:"digest,omitempty"`
}

// CommonMetadata is set on the metadata of objects; selectors and the templates of pods stay as they are.
type CommonMetadata struct {
	// Labels that all objects get. A value that an object has already is replaced.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations that all objects get. A value that an object has already is replaced.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
