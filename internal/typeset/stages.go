package typeset

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var stages = map[schema.GroupKind]manifests.Stage{
	{Kind: "Namespace"}: manifests.StageNamespaces,

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: manifests.StageDefinitions,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               manifests.StageDefinitions,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                   manifests.StageDefinitions,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                      manifests.StageDefinitions,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                manifests.StageDefinitions,
	{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}:        manifests.StageDefinitions,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                      manifests.StageDefinitions,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         manifests.StageDefinitions,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                manifests.StageDefinitions,

	{Kind: "ConfigMap"}:             manifests.StageConfiguration,
	{Kind: "Secret"}:                manifests.StageConfiguration,
	{Kind: "ServiceAccount"}:        manifests.StageConfiguration,
	{Kind: "LimitRange"}:            manifests.StageConfiguration,
	{Kind: "ResourceQuota"}:         manifests.StageConfiguration,
	{Kind: "PersistentVolume"}:      manifests.StageConfiguration,
	{Kind: "PersistentVolumeClaim"}: manifests.StageConfiguration,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: manifests.StageConfiguration,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        manifests.StageConfiguration,

	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: manifests.StageBackends,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   manifests.StageBackends,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                           manifests.StageBackends,
}

// stageOf returns the stage of a type that is not a managed type.
func stageOf(gk schema.GroupKind) manifests.Stage {
	if s, ok := stages[gk]; ok {
		return s
	}
	return manifests.StageWorkloads
}

// StageOf returns the stage of a type, given the managed types of its set. New is faster for several types.
func StageOf(gk schema.GroupKind, managed []manifests.ManagedType) manifests.Stage {
	return New(managed).StageOf(gk)
}
