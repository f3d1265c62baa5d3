package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	structured "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/fieldset"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// maxOverridden is the maximum number of overridden fields of an object that the inventory names.
	maxOverridden = 3
	// maxShown is the maximum length of a path and of a value in the text about an overridden field, in bytes.
	maxShown = 100
)

// rewritten are fields that the API server stores in another form than it gets them, and that are not compared.
var rewritten = map[schema.GroupKind]string{
	{Kind: "Secret"}: "stringData", {Kind: "Endpoints"}: "subsets",
}

// overridden returns a text that names fields of the manifest which have another value, or are missing, although we own
// them. Admission changes a request after the API server has entered its fields into the managed fields, so such a
// field is ours with a value that we did not send. The text is empty if there is no such field. Fields and items of
// lists that were added do not count, nor do other forms of the same value; see sameScalar. A value is part of the text
// only if it cannot come from a Secret.
func overridden(live, desired, entry map[string]any, manifest manifests.Object, reconciler string) string {
	w := overrides{key: manifest.Key, reconciler: reconciler}
	sent := maps.Clone(desired)
	delete(sent, rewritten[manifest.Key.GroupKind()])
	w.inMap(sent, live, entry, nil)
	if more := len(w.found) - maxOverridden; more > 0 {
		w.found = append(w.found[:maxOverridden], fmt.Sprintf("%d more", more))
	}
	return strings.Join(w.found, ", ")
}

// overrides collects the overridden fields of an object.
type overrides struct {
	key        manifests.Key
	reconciler string
	found      []string
}

// in compares the value of a field with the value in the manifest. node has our fields below it, in the form of
// FieldsV1.
func (w *overrides) in(sent, live any, node map[string]any, path structured.Path) {
	hasFields := len(node) > 1 || len(node) == 1 && node["."] == nil
	if !hasFields || live == nil {
		if !keeps(sent, live) {
			w.add(path, sent, live)
		}
		return
	}
	switch s := sent.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			w.inMap(s, l, node, path)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			w.inList(s, l, node, path)
			return
		}
	}
	if !keeps(sent, live) {
		w.add(path, sent, live)
	}
}

func (w *overrides) inMap(sent, live, node map[string]any, path structured.Path) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		below, owned := node["f:"+name].(map[string]any)
		at := append(slices.Clone(path), structured.FieldNameElement(name))
		if owned && !isMark(at, w.reconciler) {
			w.in(sent[name], live[name], below, at)
		}
	}
}

// inList compares the items of a list that is divided into fields. An item of a set is compared as a whole.
func (w *overrides) inList(sent, live []any, node map[string]any, path structured.Path) {
	for _, element := range fieldset.Elements(node) {
		matches := func(item any) bool { return fieldset.Matches(item, element) }
		s, l := slices.IndexFunc(sent, matches), slices.IndexFunc(live, matches)
		step, err := structured.DeserializePathElement(element)
		if s < 0 || err != nil {
			continue
		}
		at := append(slices.Clone(path), step)
		below, _ := node[element].(map[string]any)
		if l < 0 {
			w.add(at, sent[s], nil)
			continue
		}
		w.in(sent[s], live[l], below, at)
	}
}

// add adds the text about an overridden field.
func (w *overrides) add(path structured.Path, sent, live any) {
	field := pathText(path)
	if len(field) > maxShown {
		field = strings.ToValidUTF8(field[:maxShown], "") + "…"
	}
	isPart := len(path) > 0 && path[len(path)-1].Value != nil
	text := field + " has another value"
	switch {
	case isPart:
		text = field + " lacks an item"
	case live == nil:
		text = field + " is missing"
	case w.isShown(path, sent) && w.isShown(path, live):
		text = fmt.Sprintf("%s is %v instead of %v", field, live, sent)
	}
	if !slices.Contains(w.found, text) {
		w.found = append(w.found, text)
	}
}

// isShown reports whether a value may be part of a text that readers of the component see: a number or a truth value of
// a built-in type, an image, or a quantity of resources. Other texts may come from a Secret.
func (w *overrides) isShown(path structured.Path, value any) bool {
	if !builtintypes.IsBuiltIn(w.key.Group) || w.key.IsSecret() {
		return false
	}
	switch v := value.(type) {
	case bool, int64, float64:
		return true
	case string:
		return len(v) <= maxShown && (isImage(path) || isNamed(path, 2, "limits") || isNamed(path, 2, "requests"))
	}
	return false
}

// isNamed reports whether the element of a path at a place, counted from its end, is a field with the name.
func isNamed(path structured.Path, fromEnd int, name string) bool {
	place := len(path) - fromEnd
	return place >= 0 && path[place].FieldName != nil && *path[place].FieldName == name
}

// keeps reports whether a live value has everything that a value in the manifest sets. A live map may have more fields,
// and a live list more items and another order.
func keeps(sent, live any) bool {
	if isUnset(sent) {
		return true
	}
	switch s := sent.(type) {
	case map[string]any:
		l, isMap := live.(map[string]any)
		for name, value := range s {
			if !keeps(value, l[name]) {
				return false
			}
		}
		return isMap || live == nil
	case []any:
		l, _ := live.([]any)
		for i, item := range s {
			at := i < len(l) && keeps(item, l[i])
			if !at && !slices.ContainsFunc(l, func(other any) bool { return keeps(item, other) }) {
				return false
			}
		}
		return true
	}
	return sameScalar(sent, live)
}

// isUnset reports whether the API server may treat a value like a missing one: null, an empty map, list or text, or 0.
func isUnset(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return isEmpty(value)
}

// sameScalar reports whether two values are forms of the same value. The API server stores quantities, times, durations
// and bytes in one form, and leaves out false.
func sameScalar(sent, live any) bool {
	if live == nil {
		return sent == false
	}
	a, b := scalarText(sent), scalarText(live)
	if a == b {
		return true
	}
	return sameForm(a, b, resource.ParseQuantity, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 }) ||
		sameForm(a, b, parseTime, func(x, y time.Time) bool { return x.Equal(y) }) ||
		sameForm(a, b, time.ParseDuration, func(x, y time.Duration) bool { return x == y }) ||
		sameForm(a, b, base64.StdEncoding.DecodeString, bytes.Equal)
}

// sameForm reports whether two texts can be parsed and have equal results.
func sameForm[T any](a, b string, parse func(string) (T, error), equal func(T, T) bool) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && equal(x, y)
}

// parseTime parses a time to the second, because the API server stores most times without fractions.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	return t.Truncate(time.Second), err
}

// scalarText returns a scalar as a text, a map or list as JSON.
func scalarText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// isImage reports whether a path is the image of a container.
func isImage(path structured.Path) bool {
	return isNamed(path, 1, "image") && (isNamed(path, 3, "containers") || isNamed(path, 3, "initContainers"))
}
