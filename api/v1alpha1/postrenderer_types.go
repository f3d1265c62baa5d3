package v1alpha1

// PostRenderer changes the rendered objects. Exactly one field is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.kustomize)",message="want kustomize"
type PostRenderer struct {
	// Kustomize changes the objects with patches, images and common metadata, like a kustomization.
	// +optional
	Kustomize *KustomizePostRenderer `json:"kustomize,omitempty"`
}

// KustomizePostRenderer contains the parts of a kustomization that change objects. Patches are applied first, then
// images, then common metadata.
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

	// Target selects the objects that are changed. Without a target, a strategic merge patch changes the object with the
	// kind and name in the patch.
	// +optional
	Target *PatchTarget `json:"target,omitempty"`
}

// PatchTarget selects objects. All fields that are set must match. All fields except the selectors are regular
// expressions.
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
	// Namespace in the manifests of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`
	// Name of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// LabelSelector selects objects by labels, such as app=web,tier!=cache.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LabelSelector string `json:"labelSelector,omitempty"`
	// AnnotationSelector selects objects by annotations, such as app=web,tier!=cache.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// KustomizeImage replaces the name, the tag or the digest of an image.
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

// CommonMetadata is added to the metadata of objects. Selectors and pod templates are not changed.
type CommonMetadata struct {
	// Labels are set on all objects. Existing values of the same keys are replaced.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are set on all objects. Existing values of the same keys are replaced.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
