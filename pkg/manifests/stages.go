package manifests

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
