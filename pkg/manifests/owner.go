package manifests

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/objectmeta"
)

// The marks of a dependent that name its component, without the prefix of the reconciler, which writes them.
const (
	// LabelOwnerID is a label that identifies the component by a hash.
	LabelOwnerID = "owner-id"
	// AnnotationOwnerID is an annotation that identifies the component in readable form: cluster, reconciler, group,
	// kind, namespace, name.
	AnnotationOwnerID = "owner-id"
)

// Owner identifies a component across clusters and reconcilers. It does not include the UID: a component that is
// restored from a backup still owns its dependents.
type Owner struct {
	// Cluster is the UID of the namespace kube-system in the cluster of the component.
	Cluster string
	// Reconciler is the name of the reconciler.
	Reconciler string
	// Group, Kind, Namespace and Name identify the component.
	Group, Kind, Namespace, Name string
}

// String returns the readable form, which is the value of the owner-id annotation.
func (o Owner) String() string {
	return strings.Join([]string{o.Cluster, o.Reconciler, o.Group, o.Kind, o.Namespace, o.Name}, "/")
}

// Component returns the key of the component.
func (o Owner) Component() Key {
	return Key{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// ParseOwner parses the output of String. It returns false for any other text, such as an annotation that another tool
// wrote.
func ParseOwner(text string) (Owner, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 6 || slices.Contains([]string{parts[1], parts[3], parts[5]}, "") {
		return Owner{}, false
	}
	return Owner{
		Cluster:    parts[0],
		Reconciler: parts[1],
		Group:      parts[2],
		Kind:       parts[3],
		Namespace:  parts[4],
		Name:       parts[5],
	}, true
}

// ID returns a hash of the readable form, which is the value of the owner-id label.
func (o Owner) ID() string {
	return objectmeta.OwnerID(o.String())
}
