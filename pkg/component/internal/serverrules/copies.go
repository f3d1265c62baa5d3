package serverrules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// copied is a field from which the API server sets another one, its copy. The copy has no manager, so a server-side
// apply that removes the field leaves the copy, and the copy has the effect of the field.
type copied struct {
	field, copy []string
	// version is the API version whose objects have the copy in place of the field; empty if all objects have both.
	version string
}

// copies returns the fields of a kind that have copies. What the API server assigns itself is not among them, such as
// the addresses and the node ports of a Service: it stays while the object exists. Neither are fields of objects that
// cannot change, such as the data sources of a claim.
func copies(kind schema.GroupKind) []copied {
	if template := podTemplates[kind]; template != "" {
		spec := append(strings.Split(template, "."), "spec")
		name, deprecated := below(spec, "serviceAccountName"), below(spec, "serviceAccount")
		return []copied{{field: name, copy: deprecated}, {field: deprecated, copy: name}}
	}
	if kind == (schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}) {
		return []copied{ofAutoscaler("metrics"), ofAutoscaler("behavior")}
	}
	return nil
}

// ofAutoscaler returns a field that autoscaling/v1 has as an annotation.
func ofAutoscaler(field string) copied {
	annotation := []string{"metadata", "annotations", "autoscaling.alpha.kubernetes.io/" + field}
	return copied{field: []string{"spec", field}, copy: annotation, version: "autoscaling/v1"}
}

func below(path []string, name string) []string { return append(slices.Clip(path), name) }

// Copied returns the fields of a kind that have copies. Names are separated by periods.
func Copied(kind schema.GroupKind) []string {
	var fields []string
	for _, c := range copies(kind) {
		fields = append(fields, strings.Join(c.field, "."))
	}
	return fields
}

// MayDrop reports whether objects of a kind may have values that an apply leaves and that DropsCopy recognises.
func MayDrop(kind schema.GroupKind) bool { return len(copies(kind)) > 0 || len(derivations(kind)) > 0 }

// DropsCopy reports whether a manifest no longer has one of our fields, so that its copy must become ours before the
// apply, or whether a default in the live object was derived from fields that the manifest changes; see TakeCopies.
// retained contains the names of our fields, and the texts of DerivedIn.
func DropsCopy(kind schema.GroupKind, manifest map[string]any, retained []string) bool {
	for _, d := range derivations(kind) {
		if slices.ContainsFunc(retained, func(text string) bool { return d.isOutdated(manifest, text) }) {
			return true
		}
	}
	for _, c := range copies(kind) {
		for _, field := range retained {
			if field == strings.Join(c.field, ".") && c.dropped(manifest) {
				return true
			}
		}
	}
	return false
}

// dropped reports whether a manifest has neither the field nor the copy.
func (c copied) dropped(manifest map[string]any) bool {
	if version, _ := manifest["apiVersion"].(string); c.version != "" && c.version != version {
		return false
	}
	return !sets(manifest, c.field) && !sets(manifest, c.copy)
}

func sets(manifest map[string]any, path []string) bool {
	value, found, err := unstructured.NestedFieldNoCopy(manifest, path...)
	return err == nil && found && value != nil && value != ""
}

// TakeCopies returns our fields together with the copies of those that a manifest no longer has, and with the derived
// defaults that it leaves to the API server, except for those that others own. The apply then removes them, and the API
// server derives the defaults again.
func TakeCopies(kind schema.GroupKind, manifest map[string]any, ours, others *fieldpath.Set) *fieldpath.Set {
	for _, d := range derivations(kind) {
		field := fieldpath.MakePathOrDie(parts(d.field)...)
		if !sets(manifest, d.field) && (Branch{Path: field}).Below(others).Empty() {
			ours = ours.Union(fieldpath.NewSet(field))
		}
	}
	for _, c := range copies(kind) {
		field := fieldpath.MakePathOrDie(parts(c.field)...)
		theirs := fieldpath.MakePathOrDie(parts(c.copy)...)
		taken := Branch{Path: field}.Below(ours)
		if taken.Empty() || !c.dropped(manifest) || !(Branch{Path: theirs}).Below(others).Empty() {
			continue
		}
		if c.version != "" {
			ours = ours.Difference(taken)
		}
		ours = ours.Union(fieldpath.NewSet(theirs))
	}
	return ours
}

func parts(path []string) []any {
	var all []any
	for _, name := range path {
		all = append(all, name)
	}
	return all
}

// Complete returns the manifest with serviceAccountName in its Pod template, if it sets only the deprecated field
// serviceAccount.
// Otherwise the API server would ignore a change of this field, because the name in the object has precedence.
func Complete(kind schema.GroupKind, manifest map[string]any) map[string]any {
	template := podTemplates[kind]
	if template == "" {
		return manifest
	}
	path := append(strings.Split(template, "."), "spec")
	spec, found, err := unstructured.NestedMap(manifest, path...)
	deprecated, _ := spec["serviceAccount"].(string)
	if name, _ := spec["serviceAccountName"].(string); err != nil || !found || deprecated == "" || name != "" {
		return manifest
	}
	spec["serviceAccountName"] = deprecated
	return with(manifest, path, spec)
}

// with returns a copy of a map with another value at a path. Maps beside the path are shared.
func with(of map[string]any, path []string, value any) map[string]any {
	changed := maps.Clone(of)
	if len(path) > 1 {
		child, _ := of[path[0]].(map[string]any)
		value = with(child, path[1:], value)
	}
	changed[path[0]] = value
	return changed
}
