package componentroles

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// leaving returns the recorded dependents that are not rendered any more. The roles replace the previous roles of the
// component, so without rules for these dependents the component could not prune them.
func (r Requirements) leaving() []metav1alpha1.InventoryEntry {
	rendered := map[manifests.Key]bool{}
	for _, o := range r.Objects {
		rendered[o.Key] = true
	}
	var found []metav1alpha1.InventoryEntry
	for _, e := range r.Recorded {
		if key := keyOf(e); !rendered[key] && !key.IsExternal() {
			found = append(found, e)
		}
	}
	return found
}

// toPrune returns the grants to read, release and delete the dependents that are not rendered any more.
func (r Requirements) toPrune() []Grant {
	var grants []Grant
	for _, e := range r.leaving() {
		verbs := slices.Concat([]string{"get", "patch", "delete"}, r.watching())
		grants = append(grants, Grant{e.Namespace, rule(r.resource(kindOf(e)), verbs)})
	}
	return grants
}

// definedBy returns the types that a recorded dependent defines.
func definedBy(e metav1alpha1.InventoryEntry) []manifests.ManagedType {
	var types []manifests.ManagedType
	for _, text := range e.Types {
		if t, err := manifests.ParseManagedType(text); err == nil {
			types = append(types, t)
		}
	}
	return types
}

func keyOf(e metav1alpha1.InventoryEntry) manifests.Key {
	return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

func kindOf(e metav1alpha1.InventoryEntry) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}
}
