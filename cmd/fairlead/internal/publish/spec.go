package publish

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// setSpec sets the source and fields of the spec, whose names have dots between their parts. It removes fields whose
// value is nil, and maps of fields that are empty then. If the spec changes, it also
// removes the entries of spec.adopt that were used.
func (r Request) setSpec(obj *unstructured.Unstructured, source map[string]any) error {
	before := obj.DeepCopy()
	if err := r.setManifest(obj); err != nil {
		return err
	}
	if err := setAdopt(obj, r.Adopt); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		value := r.Fields[name]
		path := append([]string{"spec"}, strings.Split(name, ".")...)
		if value == nil {
			removeField(obj, path)
			continue
		}
		if err := unstructured.SetNestedField(obj.Object, runtime.DeepCopyJSONValue(value), path...); err != nil {
			return err
		}
	}
	// A component has exactly one kind of source, so this one replaces the whole source.
	if err := unstructured.SetNestedMap(obj.Object, source, "spec", "source"); err != nil {
		return err
	}
	if sameSpec(before, obj) {
		return nil
	}
	return r.dropUsed(obj)
}

// setManifest sets the fields of the manifest, except for its source.
func (r Request) setManifest(obj *unstructured.Unstructured) error {
	if r.Manifest == nil {
		return nil
	}
	spec, _, err := unstructured.NestedMap(r.Manifest.Object, "spec")
	if err != nil {
		return err
	}
	if spec == nil {
		spec = map[string]any{}
	}
	adopt, _, err := unstructured.NestedSlice(obj.Object, "spec", "adopt")
	if err != nil {
		return err
	}
	more, _ := spec["adopt"].([]any)
	for _, entry := range more {
		if !contains(adopt, entry) {
			adopt = append(adopt, entry)
		}
	}
	delete(spec, "adopt")
	if adopt != nil {
		spec["adopt"] = adopt
	}
	delete(spec, "source")
	if source, found, _ := unstructured.NestedFieldCopy(obj.Object, "spec", "source"); found {
		spec["source"] = source
	}
	obj.SetLabels(merged(obj.GetLabels(), r.Manifest.GetLabels()))
	obj.SetAnnotations(merged(obj.GetAnnotations(), r.Manifest.GetAnnotations()))
	return unstructured.SetNestedMap(obj.Object, spec, "spec")
}

// merged returns the entries of both maps, or the first map if the second is empty.
func merged(base, more map[string]string) map[string]string {
	if len(more) == 0 {
		return base
	}
	all := maps.Clone(more)
	for key, value := range base {
		if _, given := more[key]; !given {
			all[key] = value
		}
	}
	return all
}

// removeField removes a field. It also removes the map that contained the field, if that map is empty then and is not
// the spec.
func removeField(obj *unstructured.Unstructured, path []string) {
	unstructured.RemoveNestedField(obj.Object, path...)
	above := path[:len(path)-1]
	if rest, found, _ := unstructured.NestedMap(obj.Object, above...); found && len(rest) == 0 && len(above) > 1 {
		unstructured.RemoveNestedField(obj.Object, above...)
	}
}

// dropUsed removes the entries of spec.adopt that name an object which the component owns, or owned before it purged
// the object. Such an entry was used, or was not needed. If it stayed, it would permit the take-over of another object
// of this name, after the component has deleted its own. An inventory that is not in the status is not read; then all
// entries stay.
func (r Request) dropUsed(obj *unstructured.Unstructured) error {
	list, _, err := unstructured.NestedSlice(obj.Object, "spec", "adopt")
	if err != nil || len(list) == 0 {
		return err
	}
	lines, _, _ := unstructured.NestedStringSlice(obj.Object, "status", "inventory")
	inventory, err := metav1alpha1.ParseInventory(lines)
	if err != nil || len(inventory) == 0 {
		return nil
	}
	asked, err := valuesOf(r.Adopt)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(list, func(entry any) bool {
		return !contains(asked, entry) && slices.ContainsFunc(inventory, func(e metav1alpha1.InventoryEntry) bool {
			return (e.UID != "" || e.Completed) && names(obj, entry, e)
		})
	})
	return unstructured.SetNestedSlice(obj.Object, kept, "spec", "adopt")
}

// names reports whether an entry of spec.adopt of a component names an object.
func names(obj *unstructured.Unstructured, entry any, e metav1alpha1.InventoryEntry) bool {
	rule := ruleOf(obj, entry)
	return rule.Name == e.Name && rule.Kind == e.Kind && rule.Group == e.Group &&
		(e.Namespace == "" || e.Namespace == rule.Namespace)
}

// ruleOf returns an entry of spec.adopt of a component, with its namespace. An entry with a cluster has no name.
func ruleOf(obj *unstructured.Unstructured, entry any) metav1alpha1.AdoptRule {
	fields, _ := entry.(map[string]any)
	text := func(field string) string {
		value, _ := fields[field].(string)
		return value
	}
	target, _, _ := unstructured.NestedString(obj.Object, "spec", "targetNamespace")
	return metav1alpha1.AdoptRule{
		Group: text("group"), Kind: text("kind"), Name: text("name"), UID: types.UID(text("uid")),
		Namespace: cmp.Or(text("namespace"), target, obj.GetNamespace()),
	}
}

// replaces reports whether an entry permits an object that has the same name as the one that another entry permits, and
// another UID. The object of the other entry no longer exists then, so that entry permits nothing any more.
func replaces(obj *unstructured.Unstructured, entry, other any) bool {
	now, before := ruleOf(obj, entry), ruleOf(obj, other)
	differs := now.UID != "" && before.UID != "" && now.UID != before.UID
	now.UID, before.UID = "", ""
	return differs && now == before
}

func contains(list []any, entry any) bool {
	return slices.ContainsFunc(list, func(have any) bool { return equality.Semantic.DeepEqual(have, entry) })
}

// valuesOf returns entries of spec.adopt as values of an unstructured object.
func valuesOf(entries []metav1alpha1.AdoptRule) ([]any, error) {
	var values []any
	for _, entry := range entries {
		value, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// setAdopt adds entries to spec.adopt, without those that it has already. An entry replaces one for another object of
// the same name. An object that does not exist yet gets a list also if there are no entries. The list of an existing
// object stays as it is if entries is nil.
func setAdopt(obj *unstructured.Unstructured, entries []metav1alpha1.AdoptRule) error {
	if entries == nil && obj.GetUID() != "" {
		return nil
	}
	list, _, err := unstructured.NestedSlice(obj.Object, "spec", "adopt")
	if err != nil {
		return err
	}
	if list == nil {
		list = []any{}
	}
	added, err := valuesOf(entries)
	if err != nil {
		return err
	}
	for _, entry := range added {
		list = slices.DeleteFunc(list, func(have any) bool { return replaces(obj, entry, have) })
		if !contains(list, entry) {
			list = append(list, entry)
		}
	}
	return unstructured.SetNestedSlice(obj.Object, list, "spec", "adopt")
}

// sameSpec compares what a request sets: the spec, the labels and the annotations.
func sameSpec(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"]) &&
		equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) &&
		equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations())
}

// sourceNames returns the names of the ConfigMaps that are the component's source, and the digest of the archive if
// they hold its parts.
func sourceNames(obj *unstructured.Unstructured) (names []string, sha256 string) {
	if obj == nil {
		return nil, ""
	}
	if name, _, _ := unstructured.NestedString(obj.Object, "spec", "source", "configMap", "name"); name != "" {
		return []string{name}, ""
	}
	names, _, _ = unstructured.NestedStringSlice(obj.Object, "spec", "source", "configMaps", "names")
	sha256, _, _ = unstructured.NestedString(obj.Object, "spec", "source", "configMaps", "sha256")
	return names, sha256
}

// otherSource returns the common name of the ConfigMaps that are the component's source, empty if it has none, or the
// given one.
func otherSource(obj *unstructured.Unstructured, s stored) string {
	names, _ := sourceNames(obj)
	if len(names) == 0 {
		return ""
	}
	if group := groupOf(s.target.Name, names[0]); group != s.group() {
		return group
	}
	return ""
}
