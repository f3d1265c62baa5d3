package serverrules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// derived is a default that the API server computes from other fields of an object when it creates the object, and not
// again when these fields change. Nobody owns the default, so an apply leaves it.
type derived struct {
	field []string
	// of returns the default for an object.
	of func(object map[string]any) any
}

// derivations returns the derived defaults of a kind. The pull policy of an image is not among them: Kubernetes
// documents that it stays when the tag of the image changes. Neither are defaults of fields that cannot change, such as
// the completions of a Job, and of lists that an apply replaces as a whole, such as the limits of a LimitRange.
func derivations(kind schema.GroupKind) []derived {
	if kind == (schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}) {
		return []derived{{field: []string{"spec", "policyTypes"}, of: policyTypes}}
	}
	return nil
}

// policyTypes returns the directions of traffic to which a NetworkPolicy without policy types applies.
func policyTypes(object map[string]any) any {
	types := []any{"Ingress"}
	if egress, _, err := unstructured.NestedSlice(object, "spec", "egress"); err == nil && len(egress) > 0 {
		types = append(types, "Egress")
	}
	return types
}

// Derived is a default in a live object that the API server derived from other fields.
type Derived struct {
	// Path is the field, and Text the field with its value.
	Path []string
	Text string
}

// DerivedIn returns the defaults in a live object that the API server may have derived from other fields.
func DerivedIn(kind schema.GroupKind, live map[string]any) []Derived {
	var found []Derived
	for _, d := range derivations(kind) {
		if value, exists, err := unstructured.NestedFieldNoCopy(live, d.field...); err == nil && exists {
			found = append(found, Derived{Path: d.field, Text: d.text(value)})
		}
	}
	return found
}

// text returns the field with a value, such as "spec.policyTypes=[Ingress Egress]".
func (d derived) text(value any) string {
	return fmt.Sprintf("%s=%v", strings.Join(d.field, "."), value)
}

// isOutdated reports whether a manifest leaves the field to the API server, and retained has another value than the API
// server would derive from the manifest. retained contains the texts of DerivedIn.
func (d derived) isOutdated(manifest map[string]any, retained string) bool {
	return strings.HasPrefix(retained, d.text("")) && !sets(manifest, d.field) && retained != d.text(d.of(manifest))
}
