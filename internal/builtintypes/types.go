package builtintypes

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtIn are the API groups of Kubernetes whose names have a dot. They have to be listed, because groups of other
// projects may also end in k8s.io.
var builtIn = map[string]bool{
	"admissionregistration.k8s.io": true,
	"apiextensions.k8s.io":         true,
	"apiregistration.k8s.io":       true,
	"authentication.k8s.io":        true,
	"authorization.k8s.io":         true,
	"certificates.k8s.io":          true,
	"coordination.k8s.io":          true,
	"discovery.k8s.io":             true,
	"events.k8s.io":                true,
	"flowcontrol.apiserver.k8s.io": true,
	"internal.apiserver.k8s.io":    true,
	"networking.k8s.io":            true,
	"node.k8s.io":                  true,
	"rbac.authorization.k8s.io":    true,
	"resource.k8s.io":              true,
	"scheduling.k8s.io":            true,
	"storage.k8s.io":               true,
	"storagemigration.k8s.io":      true,
}

// IsBuiltIn reports whether an API group belongs to Kubernetes.
func IsBuiltIn(group string) bool { return !strings.Contains(group, ".") || builtIn[group] }

// statusless are the built-in types that have no status.
var statusless = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}:      true,
	{Kind: "Secret"}:         true,
	{Kind: "ServiceAccount"}: true,
	{Kind: "LimitRange"}:     true,
	{Kind: "Endpoints"}:      true,

	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                              true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                              true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                             true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                    true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                       true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                              true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                       true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                             true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                    true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                 true,
}

// HasStatus reports whether objects of a type may have a status. It returns false only for built-in types without a
// status.
func HasStatus(gk schema.GroupKind) bool { return !statusless[gk] }

var (
	job = schema.GroupKind{Group: "batch", Kind: "Job"}
	pod = schema.GroupKind{Kind: "Pod"}
)

// RunsToCompletion reports whether an object is a Job, or a Pod that is not restarted after it succeeded.
func RunsToCompletion(body *unstructured.Unstructured) bool {
	switch body.GroupVersionKind().GroupKind() {
	case job:
		return true
	case pod:
	default:
		return false
	}
	policy, _, _ := unstructured.NestedString(body.Object, "spec", "restartPolicy")
	return policy == "Never" || policy == "OnFailure"
}

// RunsOnce reports whether objects of a type run once.
func RunsOnce(gk schema.GroupKind) bool {
	return gk == job || gk == pod
}

// IsEphemeral reports whether obj is a Job with ttlSecondsAfterFinished, which Kubernetes deletes some time after it
// finished.
func IsEphemeral(obj *unstructured.Unstructured) bool {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "batch", Kind: "Job"}) {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "ttlSecondsAfterFinished")
	return found
}

// holders are the types whose deletion also deletes other objects.
var holders = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             true,
}

// HoldsOthers reports whether the deletion of an object of the type also deletes other objects.
func HoldsOthers(gk schema.GroupKind) bool { return holders[gk] }
