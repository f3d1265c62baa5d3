package manifests

import "k8s.io/apimachinery/pkg/runtime/schema"

// Stage is a step inside a wave, given by kind. Stages are applied in ascending order and deleted in descending order.
type Stage int

// The stages.
const (
	// StageNamespaces holds namespaces.
	StageNamespaces Stage = iota
	// StageDefinitions holds what other objects refer to by type or class: custom resource definitions, classes, roles.
	StageDefinitions
	// StageConfiguration holds what workloads read or run as: configuration, service accounts, bindings, claims.
	StageConfiguration
	// StageWorkloads holds workloads and the rest.
	StageWorkloads
	// StageBackends holds what the API server calls through workloads: webhook configurations and APIServices.
	StageBackends
	// StageInstances holds instances of the types that dependents define.
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

// stageOf returns the stage of a type that no dependent of the same set defines.
func stageOf(gk schema.GroupKind) Stage {
	if s, ok := stages[gk]; ok {
		return s
	}
	return StageWorkloads
}

// StageOf returns the stage of a type, given the managed types of its set.
func StageOf(gk schema.GroupKind, managed []ManagedType) Stage {
	return NewTypeSet(managed).StageOf(gk)
}

// NeedsReady says whether objects of stage s wait until those of an earlier stage of the same wave are ready. Where it is false they
// wait only until those are applied: configuration must be there before the pod that reads it, but has no health of its own.
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
