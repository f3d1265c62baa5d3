package inventory

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
)

// maxNames is the maximum number of types or namespaces that a message names. The message also contains the number of
// the types or namespaces that it does not name.
const maxNames = 8

// Report is the result of a search for dependents: a listing for each type.
type Report []listing

// listing is the result of a search for dependents of one type.
type listing struct {
	resource discovery.Resource
	// entries are the dependents, and unproven are the objects with the marks of the owner that another client wrote.
	entries, unproven []metav1alpha1.InventoryEntry
	// everywhere is set if one request listed the objects of all namespaces. If the API server refused that request, the
	// field refused contains its error, and the field namespaces contains the namespaces that were listed one by one.
	everywhere bool
	namespaces []string
	refused    error
}

// entries returns the dependents of all types.
func (r Report) entries() []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, l := range r {
		found = append(found, l.entries...)
	}
	return found
}

// unproven returns the objects of all types that have the marks of the owner, and that another client wrote.
func (r Report) unproven() []metav1alpha1.InventoryEntry {
	var found []metav1alpha1.InventoryEntry
	for _, l := range r {
		found = append(found, l.unproven...)
	}
	return found
}

// listedAny reports whether any type could be listed in a namespace. Cluster-scoped types are ignored, because every
// user may be allowed to list some of them. For an empty namespace it reports whether any type could be listed
// anywhere.
func (r Report) listedAny(namespace string) bool {
	return slices.ContainsFunc(r, func(l listing) bool {
		if namespace == "" {
			return l.everywhere || len(l.namespaces) > 0
		}
		return l.everywhere && l.resource.Namespaced || slices.Contains(l.namespaces, namespace)
	})
}

// without returns the report without the listing of a type.
func (r Report) without(gk schema.GroupKind) Report {
	return slices.DeleteFunc(slices.Clone(r), func(l listing) bool { return l.resource.GroupKind() == gk })
}

// refusal returns the error for one of the types that could not be listed in a namespace.
func (r Report) refusal(namespace string) error {
	for _, l := range r {
		if l.refused != nil && (l.resource.Namespaced || namespace == "") {
			return l.refused
		}
	}
	return nil
}

// unsearched describes which types and namespaces the search could not list. It is empty if all types were listed in
// all namespaces.
func (r Report) unsearched() string {
	var unlisted, places []string
	byPlace := map[string][]string{}
	for _, l := range r {
		name, place := l.resource.GroupResource().String(), strings.Join(bounded(l.namespaces), ", ")
		switch {
		case l.everywhere:
		case len(l.namespaces) == 0:
			unlisted = append(unlisted, name)
		default:
			if byPlace[place] == nil {
				places = append(places, place)
			}
			byPlace[place] = append(byPlace[place], name)
		}
	}
	var parts []string
	if len(unlisted) > 0 {
		parts = append(parts, "not listed, because that is forbidden: "+strings.Join(bounded(unlisted), ", "))
	}
	for _, place := range places {
		parts = append(parts, "listed in "+place+" only: "+strings.Join(bounded(byPlace[place]), ", "))
	}
	return strings.Join(parts, "; ")
}

// bounded returns the first maxNames names, and a text with the number of the other names.
func bounded(names []string) []string {
	if len(names) <= maxNames {
		return names
	}
	return append(slices.Clone(names[:maxNames]), fmt.Sprintf("and %d more", len(names)-maxNames))
}
