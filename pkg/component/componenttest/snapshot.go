package componenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// snapshot holds what a step left, by key, in a form that is the same in every namespace and for every incarnation of
// an object.
type snapshot map[string]any

// serverFields are what the API server and its controllers choose.
var serverFields = [][]string{
	{"status"},
	{"metadata", "uid"},
	{"metadata", "resourceVersion"},
	{"metadata", "generation"},
	{"metadata", "creationTimestamp"},
	{"spec", "clusterIP"},
	{"spec", "clusterIPs"},
	{"spec", "healthCheckNodePort"},
	{"spec", "volumeName"},
}

// portable returns the lasting part of an object: its values, and who of us owns which fields.
func portable(obj *unstructured.Unstructured, reconciler, namespace string) (any, error) {
	uid, o := string(obj.GetUID()), obj.DeepCopy()
	var ours []any
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	for _, entry := range entries {
		if e, ok := entry.(map[string]any); ok && e["manager"] == reconciler {
			delete(e, "time")
			ours = append(ours, e)
		}
	}
	o.SetManagedFields(nil)
	for _, path := range serverFields {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	// They are made of the namespace, too.
	unstructured.RemoveNestedField(o.Object, "metadata", "labels", reconciler+"/"+manifests.LabelOwnerID)
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", reconciler+"/"+marks.AnnotationDigest)
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, port := range ports {
		if p, ok := port.(map[string]any); ok {
			delete(p, "nodePort")
		}
	}
	if len(ports) > 0 {
		if err := unstructured.SetNestedSlice(o.Object, ports, "spec", "ports"); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(
		map[string]any{"object": o.Object, "ours": ours, "deleting": o.GetDeletionTimestamp() != nil},
	)
	if err != nil {
		return nil, err
	}
	var found any
	text = []byte(strings.NewReplacer(namespace, "NAMESPACE", uid, "UID").Replace(string(text)))
	return found, json.Unmarshal(text, &found)
}

// shownDifferences is the maximum number of differences that the message of a failure lists.
const shownDifferences = 12

// differences says in words where a snapshot is not as it should be.
func (s snapshot) differences(want snapshot) []string {
	found := differ("", map[string]any(want), map[string]any(s))
	if len(found) > shownDifferences {
		return append(found[:shownDifferences], fmt.Sprintf("and %d more", len(found)-shownDifferences))
	}
	return found
}

func differ(path string, want, got any) []string {
	wanted, ok := want.(map[string]any)
	gotten, both := got.(map[string]any)
	if !ok || !both {
		if reflect.DeepEqual(want, got) {
			return nil
		}
		return []string{fmt.Sprintf("%s: want %s, got %s", path, brief(want), brief(got))}
	}
	keys := maps.Clone(wanted)
	maps.Copy(keys, gotten)
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		below := strings.TrimPrefix(path+" > "+key, " > ")
		w, isWanted := wanted[key]
		g, isThere := gotten[key]
		switch {
		case !isThere:
			found = append(found, fmt.Sprintf("%s: missing, want %s", below, brief(w)))
		case !isWanted:
			found = append(found, fmt.Sprintf("%s: there is %s, want nothing", below, brief(g)))
		default:
			found = append(found, differ(below, w, g)...)
		}
	}
	return found
}

func brief(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return string(text)
}
