package deletionrights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// need is a right that a deletion needs: a verb on objects of a type, in a namespace, or in the whole cluster if the
// namespace is empty.
type need struct {
	verb      string
	kind      schema.GroupVersionKind
	namespace string
	// names are the objects; empty for all objects of the type.
	names []string
	why   string
	// lists is set for the search for foreign instances.
	lists bool
}

// The reasons why rights are needed.
const (
	whyDelete    = "to delete dependents"
	whyRelease   = "to release dependents"
	whyConfirm   = "to confirm that dependents were deleted"
	whyInstances = "to find foreign instances, which would be deleted with their definition"
)

// claim is the type whose objects remain unless their recorded policy is delete.
var claim = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// isReleased reports whether a deletion releases a dependent. The recorded policy decides.
func isReleased(e metav1alpha1.InventoryEntry) bool {
	if e.Group == claim.Group && e.Kind == claim.Kind {
		return e.DeletePolicy != metav1alpha1.DeleteDelete
	}
	switch e.DeletePolicy {
	case "", metav1alpha1.DeleteDelete, metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteIfEmpty:
		return false
	case metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphanOnDelete:
	}
	return true
}

// Kept returns the dependents in an inventory that stay in the cluster when the component is deleted, in the order of
// the inventory.
func Kept(inventory []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	var kept []metav1alpha1.InventoryEntry
	for _, e := range inventory {
		if isReleased(e) && (!e.Completed || e.UID != "") {
			kept = append(kept, e)
		}
	}
	return kept
}

// MayBeKept returns the namespaces in an inventory that were created for the component, and that are deleted with it
// unless others use them.
func MayBeKept(inventory []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	return slices.DeleteFunc(slices.Clone(inventory), func(e metav1alpha1.InventoryEntry) bool {
		return e.DeletePolicy != metav1alpha1.DeleteIfEmpty
	})
}

// KeyOf returns the key of the object of an inventory entry.
func KeyOf(e metav1alpha1.InventoryEntry) manifests.Key {
	return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

// needsOf returns the rights for the deletion of the dependents in an inventory, sorted.
func needsOf(inventory []metav1alpha1.InventoryEntry) []need {
	type place struct {
		verb, namespace, why string
		kind                 schema.GroupVersionKind
	}
	names := map[place][]string{}
	var needs []need
	for _, e := range inventory {
		if e.Completed && e.UID == "" {
			continue // The object was purged.
		}
		kind := schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}
		verb, why := "delete", whyDelete
		if isReleased(e) {
			verb, why = "patch", whyRelease
		} else {
			at := place{"get", e.Namespace, whyConfirm, kind}
			names[at] = append(names[at], e.Name)
			needs = append(needs, listsOf(e)...)
		}
		at := place{verb, e.Namespace, why, kind}
		names[at] = append(names[at], e.Name)
	}
	for _, e := range MayBeKept(inventory) {
		kind := schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}
		at := place{"patch", e.Namespace, whyRelease, kind}
		names[at] = append(names[at], e.Name)
	}
	for at, objects := range names {
		slices.Sort(objects)
		needs = append(needs, need{verb: at.verb, kind: at.kind, namespace: at.namespace, names: objects, why: at.why})
	}
	slices.SortFunc(needs, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.why, b.why), cmp.Compare(a.kind.String(), b.kind.String()),
			cmp.Compare(a.namespace, b.namespace))
	})
	return needs
}

// listsOf returns the rights to list the instances of the types that a dependent defines. It leaves out patterns.
func listsOf(e metav1alpha1.InventoryEntry) []need {
	var needs []need
	for _, text := range e.Types {
		t, err := manifests.ParseManagedType(text)
		if err != nil || t.Kind == "*" {
			continue
		}
		needs = append(needs, need{
			verb: "list", kind: schema.GroupVersionKind{Group: t.Group, Kind: t.Kind}, why: whyInstances, lists: true,
		})
	}
	return needs
}

// Missing is a right that an identity lacks.
type Missing struct {
	// User is the identity.
	User string `json:"user"`
	Verb string `json:"verb"`
	// Resource is a resource with its group, such as deployments.apps.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	// Names are the objects. Names is empty if the right is needed for all objects.
	Names []string `json:"names,omitempty"`
	Why   string   `json:"why"`
}

// On returns the objects of the right in one text.
func (m Missing) On() string {
	const most = 3
	text, names := m.Resource, strings.Join(m.Names[:min(len(m.Names), most)], ", ")
	if names != "" {
		text += " " + names
	}
	if more := len(m.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if m.Namespace != "" {
		text += " in " + m.Namespace
	}
	return text
}
