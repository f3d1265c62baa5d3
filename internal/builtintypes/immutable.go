package builtintypes

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// immutableFields are the fields of built-in types that cannot change while an object exists. The API server permits
// some of these changes, for example the template of a suspended Job.
var immutableFields = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "ControllerRevision"}: {"data"},
	{Group: "apps", Kind: "DaemonSet"}:          {"spec.selector"},
	{Group: "apps", Kind: "Deployment"}:         {"spec.selector"},
	{Group: "apps", Kind: "ReplicaSet"}:         {"spec.selector"},
	{Group: "apps", Kind: "StatefulSet"}: {
		"spec.podManagementPolicy", "spec.selector", "spec.serviceName", "spec.volumeClaimTemplates",
	},
	{Group: "batch", Kind: "Job"}: {
		"spec.backoffLimitPerIndex", "spec.completionMode", "spec.completions", "spec.managedBy", "spec.podFailurePolicy",
		"spec.selector", "spec.successPolicy", "spec.template",
	},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		"spec.group", "spec.names.kind", "spec.scope",
	},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: {"addressType"},
	{Group: "networking.k8s.io", Kind: "IngressClass"}: {"spec.controller"},
	{Group: "networking.k8s.io", Kind: "IPAddress"}:    {"spec.parentRef"},
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:  {"spec.cidrs"},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:       {"handler"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {
		"roleRef",
	},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}: {"roleRef"},
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:         {"spec"},
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: {"spec"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:       {"preemptionPolicy", "value"},
	{Group: "storage.k8s.io", Kind: "CSIDriver"}: {
		"spec.attachRequired", "spec.fsGroupPolicy", "spec.podInfoOnMount", "spec.volumeLifecycleModes",
	},
	{Group: "storage.k8s.io", Kind: "StorageClass"}: {
		"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode",
	},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:      {"spec"},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}: {"driverName", "parameters"},
	{Kind: "PersistentVolume"}: {
		"spec.csi", "spec.hostPath", "spec.local", "spec.nfs", "spec.volumeMode",
	},
	{Kind: "PersistentVolumeClaim"}: {
		"spec.accessModes", "spec.dataSource", "spec.dataSourceRef", "spec.resources", "spec.selector",
		"spec.storageClassName", "spec.volumeMode", "spec.volumeName",
	},
	{Kind: "Pod"}:           {"spec"},
	{Kind: "ResourceQuota"}: {"spec.scopeSelector", "spec.scopes"},
	{Kind: "Secret"}:        {"type"},
	{Kind: "Service"}:       {"spec.clusterIP", "spec.clusterIPs"},
}

// frozenFields are the fields of a ConfigMap or Secret that cannot change if its field immutable is true.
var frozenFields = []string{"binaryData", "data", "immutable"}

// HashImmutable returns the hash of the values that a manifest sets for immutable fields; see Object.Immutable.
func HashImmutable(body *unstructured.Unstructured) uint32 {
	gk := body.GroupVersionKind().GroupKind()
	fields := immutableFields[gk]
	if frozen, _, _ := unstructured.NestedBool(body.Object, "immutable"); frozen && isFreezable(gk) {
		fields = append(slices.Clip(frozenFields), fields...)
	}
	set := make([]any, 0, 2*len(fields))
	for _, field := range fields {
		value, ok, err := unstructured.NestedFieldNoCopy(body.Object, strings.Split(field, ".")...)
		if ok && err == nil && value != nil {
			set = append(set, field, value)
		}
	}
	if len(set) == 0 {
		return 0
	}
	data, err := json.Marshal(set)
	if err != nil {
		return 0
	}
	sum := fnv.New32a()
	_, _ = sum.Write(data)
	return max(1, sum.Sum32())
}

func isFreezable(gk schema.GroupKind) bool {
	return gk == (schema.GroupKind{Kind: "Secret"}) || gk == (schema.GroupKind{Kind: "ConfigMap"})
}
