package builtin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// clusterScoped contains the kinds of the cluster-scoped built-in types, by group.
var clusterScoped = map[string][]string{
	"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
	},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"policy":                       {"PodSecurityPolicy"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// ScopeOf returns the scope of a built-in type without a request to a cluster. It returns ScopeUnknown for other types.
func ScopeOf(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	if slices.Contains(clusterScoped[gvk.Group], gvk.Kind) {
		return manifests.ScopeCluster, nil
	}
	if len(clientgoscheme.Scheme.VersionsForGroupKind(gvk.GroupKind())) > 0 {
		return manifests.ScopeNamespaced, nil
	}
	return manifests.ScopeUnknown, nil
}

// Misspelt returns the sorted types of the objects whose group is built in but does not contain their kind.
func Misspelt(objects []manifests.Object) []schema.GroupKind {
	var found []schema.GroupKind
	for _, o := range objects {
		gk := o.Key.GroupKind()
		if clientgoscheme.Scheme.IsGroupRegistered(gk.Group) && len(clientgoscheme.Scheme.VersionsForGroupKind(gk)) == 0 {
			found = append(found, gk)
		}
	}
	slices.SortFunc(found, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}
