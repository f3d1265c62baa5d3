package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// FunctionGenerator is an HTTP service that renders the objects, in the format of KRM functions.
//
// +kubebuilder:validation:XValidation:rule="self.url.startsWith('https://') || !(has(self.caRef) || has(self.tokenRef) || has(self.clientCertificateRef))",message="caRef, tokenRef and clientCertificateRef need an https URL"
type FunctionGenerator struct {
	// URL is the address of the service. The operator posts a ResourceList to it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://renderer.example.com/render"
	URL string `json:"url"`

	// CARef names the CA certificates, in PEM form, with which the service's certificate is verified. The default is the
	// trust store of the operator's system.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`

	// TokenRef names a bearer token that the operator sends with each request.
	// +optional
	TokenRef *TokenReference `json:"tokenRef,omitempty"`

	// ClientCertificateRef names a Secret of type kubernetes.io/tls with the client certificate of the operator.
	// +optional
	ClientCertificateRef *SecretReference `json:"clientCertificateRef,omitempty"`

	// Timeout is the timeout of a call. The default is 10s. The maximum is 50s, because a call occupies a worker of the
	// operator.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) > duration('0s') && duration(self) <= duration('50s')",message="want a duration up to 50s, such as 10s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Items are Secrets and ConfigMaps whose content is sent to the function. No other references of the component are
	// sent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Items []FunctionItem `json:"items,omitempty"`
}

// references returns the objects that are sent to the function, and the credentials for the connection.
func (f *FunctionGenerator) references() []metav1alpha1.Reference {
	if f == nil {
		return nil
	}
	var refs []metav1alpha1.Reference
	for _, item := range f.Items {
		refs = append(refs, metav1alpha1.Reference{Kind: item.Kind, Name: item.Name, Optional: item.Optional})
	}
	return append(refs, connectionReferences(f.CARef, f.TokenRef, f.ClientCertificateRef)...)
}

// CAReference names a bundle of CA certificates in the component's namespace.
type CAReference struct {
	// Kind is Secret or ConfigMap. The default is Secret.
	// +optional
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind metav1alpha1.ReferenceKind `json:"kind,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the object. The default is ca.crt.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// KindOrDefault returns the kind, or Secret if the kind is empty.
func (r *CAReference) KindOrDefault() metav1alpha1.ReferenceKind {
	if r.Kind == "" {
		return metav1alpha1.SecretReference
	}
	return r.Kind
}

// TokenReference names a token in a Secret in the component's namespace.
type TokenReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key in the Secret. The default is token.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// SecretReference names a Secret in the component's namespace.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// FunctionItem names a Secret or ConfigMap in the component's namespace.
type FunctionItem struct {
	// Kind is Secret or ConfigMap.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind metav1alpha1.ReferenceKind `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Optional means that a missing object is not an error.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
