package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// External is a kind of dependents outside Kubernetes, with the service that handles them. Their manifests have the
// apiVersion external.fairlead.io/v1.
type External struct {
	// Kind of the manifests.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`

	// Service handles the externals of the kind.
	Service ExternalService `json:"service"`
}

// ExternalService is an HTTP service that handles externals, with the protocol in docs/dependents/external.md.
//
// +kubebuilder:validation:XValidation:rule="self.url.startsWith('https://') || !(has(self.caRef) || has(self.tokenRef) || has(self.clientCertificateRef))",message="caRef, tokenRef and clientCertificateRef need an https URL"
// +kubebuilder:validation:XValidation:rule="!has(self.idempotentFor) || !has(self.methods) || 'create' in self.methods",message="idempotentFor needs the method create"
type ExternalService struct {
	// URL is the address of the service. The operator posts each call to it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://dns.example.com/externals"
	URL string `json:"url"`

	// CARef names the CA certificates, in PEM form, with which the service's certificate is verified. The default is the
	// trust store of the operator's system.
	// +optional
	CARef *CAReference `json:"caRef,omitempty"`

	// TokenRef names a bearer token that the operator sends with each call.
	// +optional
	TokenRef *TokenReference `json:"tokenRef,omitempty"`

	// ClientCertificateRef names a Secret of type kubernetes.io/tls with the client certificate of the operator.
	// +optional
	ClientCertificateRef *SecretReference `json:"clientCertificateRef,omitempty"`

	// Methods are the methods that the service has besides observe. The default is create, update and delete. Without
	// create, the component waits until the external exists. Without update, a changed spec needs a new external. Without
	// delete, the external is released. With find, the service searches for an external by its token after a create with
	// an unknown result. With list, it observes many externals with one call.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Methods []ExternalMethod `json:"methods,omitempty"`

	// Timeout is the timeout of a call. The default is 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="want a duration from 1s to 10m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Poll is the time between two observations of an external. The default is 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="want a duration from 1s to 24h"
	Poll *metav1.Duration `json:"poll,omitempty"`

	// Settle is the time after a write in which the answer that an external does not exist proves nothing, because the
	// external system may show its writes late. The default is 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="want a duration from 0s to 1h"
	Settle *metav1.Duration `json:"settle,omitempty"`

	// IdempotentFor is the time in which the service treats a repeated create with the same token as one create. By
	// default, a create with an unknown result is not repeated.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="want a duration from 1s to 720h"
	IdempotentFor *metav1.Duration `json:"idempotentFor,omitempty"`

	// Concurrency is the maximum number of calls with the same credentials at the same time. The default is 4.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Concurrency int32 `json:"concurrency,omitempty"`

	// Rate is the maximum number of calls with the same credentials in a second. The default is 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Rate int32 `json:"rate,omitempty"`
}

// ExternalMethod is an optional method of a service for externals.
// +kubebuilder:validation:Enum=create;update;delete;find;list
type ExternalMethod string

// The optional methods of a service for externals.
const (
	ExternalCreate ExternalMethod = "create"
	ExternalUpdate ExternalMethod = "update"
	ExternalDelete ExternalMethod = "delete"
	ExternalFind   ExternalMethod = "find"
	ExternalList   ExternalMethod = "list"
)

// References returns the objects with the credentials for the connection to the service.
func (s *ExternalService) References() []metav1alpha1.Reference {
	return connectionReferences(s.CARef, s.TokenRef, s.ClientCertificateRef)
}

// connectionReferences returns the objects with the credentials for the connection to a service.
func connectionReferences(
	ca *CAReference, token *TokenReference, certificate *SecretReference,
) []metav1alpha1.Reference {
	var refs []metav1alpha1.Reference
	if ca != nil {
		refs = append(refs, metav1alpha1.Reference{Kind: ca.KindOrDefault(), Name: ca.Name, Credential: true})
	}
	if token != nil {
		refs = append(refs, metav1alpha1.Reference{
			Kind: metav1alpha1.SecretReference, Name: token.Name, Credential: true,
		})
	}
	if certificate != nil {
		refs = append(refs, metav1alpha1.Reference{
			Kind: metav1alpha1.SecretReference, Name: certificate.Name, Credential: true,
		})
	}
	return refs
}
