package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// FunctionGenerator is a service that renders: a KRM function behind a URL.
//
// +kubebuilder:validation:XValidation:rule="self.url.startsWith('https://') || !(has(self.caRef) || has(self.tokenRef) || has(self.clientCertificateRef))",message="caRef, tokenRef and clientCertificateRef need an https URL"
type FunctionGenerator struct {
	// URL that a ResourceList is posted to.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://renderer.example.com/render"
	URL string `json:"url"`

	// CARef names the authority that the service's certificate must come from, as PEM; those that the operator's system
	// trusts by default.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`

	// TokenRef names a bearer token that the request carries.
	// +optional
	TokenRef *TokenReference `json:"tokenRef,omitempty"`

	// ClientCertificateRef names a Secret of type kubernetes.io/tls with the certificate that the operator presents.
	// +optional
	ClientCertificateRef *SecretReference `json:"clientCertificateRef,omitempty"`

	// Timeout of a call; 10s by default, 50s at the most, because a call holds up a worker.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) > duration('0s') && duration(self) <= duration('50s')",message="want a duration up to 50s, such as 10s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Items are Secrets and ConfigMaps that the function gets, with their contents. Nothing else that the component
	// references is sent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Items []FunctionItem `json:"items,omitempty"`
}

// references returns what the function gets, and what it is reached with.
func (f *FunctionGenerator) references() []metav1alpha1.Reference {
	if f == nil {
		return nil
	}
	var refs []metav1alpha1.Reference
	for _, item := range f.Items {
		refs = append(refs, metav1alpha1.Reference{Kind: item.Kind, Name: item.Name, Optional: item.Optional})
	}
	if f.CARef != nil {
		refs = append(refs, metav1alpha1.Reference{Kind: f.CARef.KindOrDefault(), Name: f.CARef.Name, Credential: true})
	}
	if f.TokenRef != nil {
		refs = append(refs, metav1alpha1.Reference{
			Kind: metav1alpha1.SecretReference, Name: f.TokenRef.Name, Credential: true,
		})
	}
	if f.ClientCertificateRef != nil {
		refs = append(refs, metav1alpha1.Reference{
			Kind: metav1alpha1.SecretReference, Name: f.ClientCertificateRef.Name, Credential: true,
		})
	}
	return refs
}

// CAReference names a bundle of certificates in the component's namespace.
type CAReference struct {
	// Kind is Secret, which is the default, or ConfigMap.
	// +optional
	Kind metav1alpha1.ReferenceKind `json:"kind,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the object; ca.crt by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// KindOrDefault returns the kind: Secret where the reference is silent.
func (r *CAReference) KindOrDefault() metav1alpha1.ReferenceKind {
	if r.Kind == "" {
		return metav1alpha1.SecretReference
	}
	return r.Kind
}

// TokenReference names a token in a Secret of the component's namespace.
type TokenReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret; token by default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SecretReference names a Secret of the component's namespace.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// FunctionItem names a Secret or ConfigMap of the component's namespace.
type FunctionItem struct {
	// Kind is Secret or ConfigMap.
	Kind metav1alpha1.ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Optional says that a missing object is no error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
