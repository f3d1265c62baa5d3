package manifests

import (
	"fmt"
	"strings"

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

// ParseManagedType parses the form Kind.group, such as Certificate.cert-manager.io. It returns an error if one of the
// two parts is missing, and does not check them further, as NewManagedType does.
func ParseManagedType(text string) (ManagedType, error) {
	kind, group, ok := strings.Cut(text, ".")
	if !ok || kind == "" || group == "" {
		return ManagedType{}, fmt.Errorf("managed type %q: want Kind.group", text)
	}
	return ManagedType{schema.GroupKind{Group: group, Kind: kind}}, nil
}
