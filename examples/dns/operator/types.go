package operator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GroupVersion is the group and version of Site.
var GroupVersion = schema.GroupVersion{Group: "dns.example.com", Version: "v1"}

// Site is a component: hosts whose names are in the DNS.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SiteSpec `json:"spec"`
	// +optional
	Status metav1alpha1.Status `json:"status,omitzero"`
}

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	// Hosts are the names of the hosts, such as www.example.com.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=200
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	Hosts []string `json:"hosts"`
	// Address is the IPv4 address of the hosts.
	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address"`
	// TTL is the time in seconds for which others may cache the address.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TTL int32 `json:"ttl,omitempty"`
	// SecretName is the name of a Secret with the key token, the token of the DNS service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

// SiteList is a list of sites.
//
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"`
}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// GetParameters returns the values of the templates.
func (s *Site) GetParameters() (map[string]any, error) {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return values, nil
}

// GetStatus returns the status, which the reconciler maintains.
func (s *Site) GetStatus() *metav1alpha1.Status { return &s.Status }
