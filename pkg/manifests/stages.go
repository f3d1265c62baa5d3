package manifests

import "k8s.io/apimachinery/pkg/runtime/schema"

// Stage is a step inside a wave, determined by the type of an object. Stages are applied in ascending order and deleted
// in descending order.
type Stage uint8

// The stages.
const (
	// StageNamespaces holds namespaces.
	StageNamespaces Stage = iota
	// StageDefinitions holds objects that others refer to by type or class: custom resource definitions, classes,
	// roles.
	StageDefinitions
	// StageConfiguration holds the configuration and identity of workloads: ConfigMaps, Secrets, service accounts,
	// bindings, claims.
	StageConfiguration
	// StageWorkloads holds workloads and all types without another stage.
	StageWorkloads
	// StageBackends holds the objects that make the API server call workloads: webhook configurations and APIServices.
	StageBackends
	// StageInstances holds instances of managed types.
	StageInstances
)

var stages = map[schema.GroupKind]Stage{
	{Kind: "Namespace"}: StageNamespaces,

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: StageDefinitions,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               StageDefinitions,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                   StageDefinitions,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                      StageDefinitions,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                StageDefinitions,
	{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}:        StageDefinitions,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                      StageDefinitions,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         StageDefinitions,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                StageDefinitions,

	{Kind: "ConfigMap"}:             StageConfiguration,
	{Kind: "Secret"}:                StageConfiguration,
	{Kind: "ServiceAccount"}:        StageConfiguration,
	{Kind: "LimitRange"}:            StageConfiguration,
	{Kind: "ResourceQuota"}:         StageConfiguration,
	{Kind: "PersistentVolume"}:      StageConfiguration,
	{Kind: "PersistentVolumeClaim"}: StageConfiguration,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: StageConfiguration,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        StageConfiguration,

	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: StageBackends,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   StageBackends,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                           StageBackends,
}

// stageOf returns the stage of a type that is not a managed type.
func stageOf(gk schema.GroupKind) Stage {
	if s, ok := stages[gk]; ok {
		return s
	}
	return StageWorkloads
}

// StageOf returns the stage of a type, given the managed types of its set. NewTypeSet is faster for several types.
func StageOf(gk schema.GroupKind, managed []ManagedType) Stage {
	return NewTypeSet(managed).StageOf(gk)
}

// NeedsReady reports whether the objects of stage s are applied only when the objects of an earlier stage in the same
// wave are ready. If it returns false, it is enough that the earlier objects are applied. A ConfigMap, for example,
// must exist before the Pod that reads it, and does not become ready.
func (s Stage) NeedsReady(earlier Stage) bool {
	switch s {
	case StageNamespaces, StageDefinitions, StageConfiguration, StageWorkloads:
		return earlier == StageNamespaces
	case StageBackends:
		return earlier == StageNamespaces || earlier == StageWorkloads
	case StageInstances:
		return true
	}
	return true
}
