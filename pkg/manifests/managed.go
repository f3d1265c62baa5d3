package manifests

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ManagedType is a type that a dependent defines. Kind "*" stands for all kinds of the group: an APIService names no kinds.
type ManagedType struct {
	schema.GroupKind
}

// Matches says whether gk is of the managed type.
func (m ManagedType) Matches(gk schema.GroupKind) bool {
	return m.Group == gk.Group && (m.Kind == "*" || m.Kind == gk.Kind)
}

// ParseManagedType reads the text form, Kind.group.
func ParseManagedType(text string) (ManagedType, error) {
	kind, group, ok := strings.Cut(text, ".")
	if !ok || kind == "" || group == "" {
		return ManagedType{}, fmt.Errorf("managed type %q: want Kind.group", text)
	}
	return ManagedType{schema.GroupKind{Group: group, Kind: kind}}, nil
}

// ManagedTypes returns the types that a manifest defines.
func ManagedTypes(obj *unstructured.Unstructured) []ManagedType {
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		if group != "" && kind != "" {
			return []ManagedType{{schema.GroupKind{Group: group, Kind: kind}}}
		}
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		_, aggregated, _ := unstructured.NestedMap(obj.Object, "spec", "service")
		if group != "" && aggregated {
			return []ManagedType{{schema.GroupKind{Group: group, Kind: "*"}}}
		}
	}
	return nil
}

// definedScope returns the scope that a custom resource definition gives to the type it defines.
func definedScope(obj *unstructured.Unstructured) Scope {
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	switch scope {
	case "Cluster":
		return ScopeCluster
	case "Namespaced":
		return ScopeNamespaced
	}
	return ScopeUnknown
}

// IsEphemeral says of a Job that Kubernetes removes it some time after it finished.
func IsEphemeral(obj *unstructured.Unstructured) bool {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "batch", Kind: "Job"}) {
		return false
	}
	_, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "ttlSecondsAfterFinished")
	return found
}
