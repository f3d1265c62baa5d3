package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// withHolders returns waits whose messages name the recorded objects that may hold an exclusive port of the waiting
// object. These objects are no longer rendered, and are removed only when all dependents are ready, so a renamed object
// would wait for them for ever.
func withHolders(f Facts, waiting []Waiting, removals []metav1alpha1.InventoryEntry) []Waiting {
	if len(removals) == 0 {
		return waiting
	}
	named := slices.Clone(waiting)
	for i, w := range waiting {
		holders := holdersFor(f, w, removals)
		if len(holders) == 0 {
			continue
		}
		if port := exclusivePort(f, w.Key); port != "" {
			named[i].Message += fmt.Sprintf("; %s may hold its %s, and is removed only when all dependents are ready: render "+
				"it once more with the annotation %s/%s: %s, and then leave it out", strings.Join(holders, ", "), port,
				f.Adoptions.self.Reconciler, manifests.AnnotationPrunePolicy, metav1alpha1.PruneAtOnce)
		}
	}
	return named
}

// holdersFor returns the names of the first objects of the same kind that are to be removed after an object is ready.
// It returns nothing for an object that waits for something else.
func holdersFor(f Facts, w Waiting, removals []metav1alpha1.InventoryEntry) (names []string) {
	if w.Failure == nil && w.Reason != WaitInProgress || w.Failure != nil && !strings.HasSuffix(w.Failure.Field, ".nodePort") {
		return nil
	}
	for _, e := range removals {
		if key := KeyOf(e); key.GroupKind() == w.Key.GroupKind() && !isPrunedAtOnce(f, e) && len(names) < maxNamed {
			names = append(names, key.String())
		}
	}
	return names
}

// exclusivePort returns a port of a desired object that no other object can have at the same time, such as "host port
// 8080"; empty if there is none.
func exclusivePort(f Facts, key manifests.Key) string {
	i := slices.IndexFunc(f.Desired, func(o manifests.Object) bool { return o.Key == key })
	if i < 0 {
		return ""
	}
	whole, err := f.Desired[i].Whole()
	if err != nil {
		return ""
	}
	spec, _, _ := unstructured.NestedMap(whole.Body.Object, "spec")
	if key.GroupKind().String() == "Service" {
		return firstPort(spec, "nodePort", "node port")
	}
	if template, found, _ := unstructured.NestedMap(spec, "template", "spec"); found {
		spec = template
	}
	containers, _, _ := unstructured.NestedSlice(spec, "containers")
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		if port := firstPort(fields, "hostPort", "host port"); port != "" {
			return port
		}
		if onHost, _ := spec["hostNetwork"].(bool); onHost {
			if port := firstPort(fields, "containerPort", "host port"); port != "" {
				return port
			}
		}
	}
	return ""
}

// firstPort returns the first port in a field of the list of ports, with a name.
func firstPort(fields map[string]any, field, name string) string {
	ports, _, _ := unstructured.NestedSlice(fields, "ports")
	for _, p := range ports {
		port, _ := p.(map[string]any)
		if number, ok := port[field]; ok && fmt.Sprint(number) != "0" {
			return fmt.Sprintf("%s %v", name, number)
		}
	}
	return ""
}
