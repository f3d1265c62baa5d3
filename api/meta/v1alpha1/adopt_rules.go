package v1alpha1

import (
	"regexp"

	"k8s.io/apimachinery/pkg/types"
)

// AdoptRule permits a component to take over existing objects: one object with a name, or the objects that the
// component owned in another cluster. A rule never takes an object from another component.
//
// +kubebuilder:validation:XValidation:rule="has(self.cluster) ? !has(self.group) && !has(self.kind) && !has(self.__namespace__) && !has(self.name) && !has(self.uid) : has(self.kind) && has(self.name)",message="set either cluster, or kind and name"
type AdoptRule struct {
	// Cluster is the UID of the namespace kube-system of another cluster. The component takes over the objects that it
	// owned in that cluster, for example after both were restored from a backup. Such objects carry an annotation with the
	// cluster, the operator, and the type, namespace and name of the component, which all must match.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`
	// Group of the object, without the version. It is empty for the group of ConfigMaps and Services.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Kind of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// Namespace of the object. The default is the namespace in which the component is rendered. It is ignored for a
	// cluster-scoped object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// UID of the object. If it is set, the rule permits only the object with this UID, and no other object of this name.
	// The command fairlead apply sets it to the UID of the object that it has shown.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// IsClusterUID reports whether a text can be the UID of the namespace kube-system of a cluster, which AdoptRule.Cluster
// names. API servers make such UIDs.
func IsClusterUID(text string) bool { return clusterUID.MatchString(text) }

var clusterUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
