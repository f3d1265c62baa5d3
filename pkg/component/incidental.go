package component

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Incidental describes objects that some controller puts into namespaces by itself, and that nobody misses with them. Nothing on such an
// object tells that in general.
type Incidental struct {
	// Group and Kind of the objects.
	Group, Kind string
	// Name is their name in every namespace; any name where it is empty.
	Name string
	// Labels are those that they all carry; none are needed where it is empty.
	Labels map[string]string
}

// wellKnown is what widespread controllers put into every namespace.
var wellKnown = []Incidental{
	// Kubernetes.
	{Kind: "ConfigMap", Name: "kube-root-ca.crt"},
	{Kind: "ServiceAccount", Name: "default"},
	// Istio.
	{Kind: "ConfigMap", Name: "istio-ca-root-cert"},
	// OpenShift.
	{Kind: "ConfigMap", Name: "openshift-service-ca.crt"},
	{Kind: "ServiceAccount", Name: "builder"},
	{Kind: "ServiceAccount", Name: "deployer"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Name: "system:deployers"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Name: "system:image-builders"},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Name: "system:image-pullers"},
}

// incidentals returns what is well known together with what a reconciler is configured with.
func incidentals(configured []Incidental) ([]Incidental, error) {
	for i, c := range configured {
		if c.Kind == "" {
			return nil, fmt.Errorf("Options.Incidental: entry %d names no kind", i+1)
		}
	}
	return slices.Concat(wellKnown, configured), nil
}

func (i Incidental) matches(gk schema.GroupKind, m *metav1.PartialObjectMetadata) bool {
	return i.Group == gk.Group && i.Kind == gk.Kind && (i.Name == "" || i.Name == m.Name) && labels.SelectorFromSet(i.Labels).Matches(labels.Set(m.Labels))
}
