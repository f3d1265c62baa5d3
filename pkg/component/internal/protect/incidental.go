package protect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Incidental describes objects that a controller creates automatically in namespaces. Incidental objects do not block
// the deletion of their namespace, and are deleted with the namespace.
type Incidental struct {
	Group, Kind string
	// Name is the name in every namespace; empty for any name.
	Name string
	// Labels are the labels that an object must have; if Labels is empty, no label is required.
	Labels map[string]string
}

// WellKnown are the objects that Kubernetes, Istio and OpenShift create in every namespace.
var WellKnown = []Incidental{
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

// matches reports whether i describes an object.
func (i Incidental) matches(gk schema.GroupKind, m *metav1.PartialObjectMetadata) bool {
	return i.Group == gk.Group && i.Kind == gk.Kind && (i.Name == "" || i.Name == m.Name) &&
		labels.SelectorFromSet(i.Labels).Matches(labels.Set(m.Labels))
}
