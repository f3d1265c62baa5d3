package manifests

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ManagedType is a type that a dependent defines, or a pattern of types that a component declares. Kind "*" matches all
// kinds of the group; an APIService yields this kind, because it names a group and no kinds. Group "*" matches all
// groups, and "*.suffix" matches all groups with this suffix. Neither of these two group patterns matches a built-in
// group of Kubernetes, because a component cannot define types in these groups.
type ManagedType struct {
	schema.GroupKind
}

// Matches reports whether gk matches the managed type.
func (m ManagedType) Matches(gk schema.GroupKind) bool {
	return m.MatchesGroup(gk.Group) && (m.Kind == "*" || m.Kind == gk.Kind)
}

// MatchesGroup reports whether the managed type can match types of the group.
func (m ManagedType) MatchesGroup(group string) bool {
	suffix, wild := strings.CutPrefix(m.Group, "*")
	if !wild {
		return group == m.Group
	}
	return strings.HasSuffix(group, suffix) && !ownGroups[group]
}

// ownGroups are the built-in groups of Kubernetes.
var ownGroups = map[string]bool{
	"": true, "admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"apps": true, "authentication.k8s.io": true, "authorization.k8s.io": true, "autoscaling": true, "batch": true,
	"certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
	"internal.apiserver.k8s.io": true, "networking.k8s.io": true, "node.k8s.io": true, "policy": true,
	"rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true,
	"storagemigration.k8s.io": true,
}

// NewManagedType returns a managed type. group may be "*" or "*.suffix", and kind may be "*". It returns an error for
// an invalid group or kind.
func NewManagedType(group, kind string) (ManagedType, error) {
	if suffix, wild := strings.CutPrefix(group, "*"); wild && suffix == "" ||
		len(validation.IsDNS1123Subdomain(strings.TrimPrefix(group, "*."))) == 0 {
		if kind == "*" || len(validation.IsDNS1035Label(strings.ToLower(kind))) == 0 {
			return ManagedType{schema.GroupKind{Group: group, Kind: kind}}, nil
		}
	}
	return ManagedType{}, fmt.Errorf(
		`managed type with group %q and kind %q: want a group, "*" or "*.suffix", and a kind or "*"`,
		group,
		kind,
	)
}

// ParseManagedType parses Kind.group.
func ParseManagedType(text string) (ManagedType, error) {
	kind, group, ok := strings.Cut(text, ".")
	if !ok || kind == "" || group == "" {
		return ManagedType{}, fmt.Errorf("managed type %q: want Kind.group", text)
	}
	return ManagedType{schema.GroupKind{Group: group, Kind: kind}}, nil
}

// ManagedTypes returns the types that a CustomResourceDefinition or an APIService defines.
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

// TypeSet is an index of managed types.
type TypeSet struct {
	exact    map[schema.GroupKind]bool
	groups   map[string]bool
	patterns []ManagedType
}

// NewTypeSet indexes managed types.
func NewTypeSet(types []ManagedType) TypeSet {
	s := TypeSet{exact: map[schema.GroupKind]bool{}, groups: map[string]bool{}}
	for _, t := range types {
		switch {
		case strings.Contains(t.Group, "*"):
			s.patterns = append(s.patterns, t)
		case t.Kind == "*":
			s.groups[t.Group] = true
		default:
			s.exact[t.GroupKind] = true
		}
	}
	return s
}

// Has reports whether gk matches one of the managed types.
func (s TypeSet) Has(gk schema.GroupKind) bool {
	if s.exact[gk] || s.groups[gk.Group] {
		return true
	}
	for _, p := range s.patterns {
		if p.Matches(gk) {
			return true
		}
	}
	return false
}

// StageOf returns the stage of a type. Objects whose type is one of the managed types are in StageInstances.
func (s TypeSet) StageOf(gk schema.GroupKind) Stage {
	if s.Has(gk) {
		return StageInstances
	}
	return stageOf(gk)
}
