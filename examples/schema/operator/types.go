package operator

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// GroupVersion is the group and version of Database.
var GroupVersion = schema.GroupVersion{Group: "mysql.example.com", Version: "v1"}

// Database is a component: a schema with a user.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fairlead
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DatabaseSpec `json:"spec"`
	// +optional
	Status metav1alpha1.Status `json:"status,omitzero"`
}

// DatabaseSpec is the desired state of a Database.
type DatabaseSpec struct {
	// Schema is the name of the schema and of its user.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a schema cannot be renamed"
	Schema string `json:"schema"`
	// Charset is the default character set of new tables.
	// +optional
	// +kubebuilder:default=utf8mb4
	// +kubebuilder:validation:Enum=ascii;latin1;utf8mb4
	Charset string `json:"charset,omitempty"`
	// AdminSecretName is the name of a Secret with the keys address (HOST:PORT), username and password of an
	// administrator of the server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	AdminSecretName string `json:"adminSecretName"`
	// Keep keeps the schema and its user when the Database is deleted.
	// +optional
	Keep bool `json:"keep,omitempty"`
}

// DatabaseList is a list of databases.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// GetParameters returns the values of the templates.
func (d *Database) GetParameters() (map[string]any, error) {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return values, nil
}

// GetStatus returns the status, which the reconciler maintains.
func (d *Database) GetStatus() *metav1alpha1.Status { return &d.Status }
