package explain

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// HeldUp explains an object that is not a dependent: because a dependency holds it up, or because a component only
// observes it. It reads the components of the ready-made operator in the namespace of the object. found is false if
// none of them waits for the object or observes it, or if they cannot be read.
func HeldUp(ctx context.Context, c *cluster.Cluster, target cluster.Target) (w show.Why, found bool) {
	gvk := target.Mapping.GroupVersionKind
	key := manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: target.Namespace, Name: target.Name}
	mapping, err := c.ResolveType("Component." + v1alpha1.GroupVersion.Group)
	if target.Namespace == "" || err != nil {
		return show.Why{}, false
	}
	err = c.List(ctx, mapping, target.Namespace, func(obj *unstructured.Unstructured) error {
		t := cluster.Target{Mapping: mapping, Namespace: obj.GetNamespace(), Name: obj.GetName()}
		status, err := cluster.StatusIfAny(t, obj)
		if err != nil {
			return err
		}
		for _, waiting := range status.Waiting {
			if waiting.Dependent == key.String() && waiting.Reason == component.ReportDependency {
				found, w = true, awaitedBy(key, obj, status.Revision)
				w.HeldUp = "not created yet: " + waiting.Message
			}
		}
		if observed, ok := observation(key, &status); ok {
			found, w = true, awaitedBy(key, obj, status.Revision)
			w.Observed = observed
		}
		return nil
	})
	return w, found && err == nil
}

// heldUpByExport says for which exports of other components a component waits. It is empty if it waits for none.
func heldUpByExport(status metav1alpha1.Status) string {
	ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil ||
		ready.Reason != metav1alpha1.ReasonExportMissing && ready.Reason != metav1alpha1.ReasonReferenceCycle {
		return ""
	}
	return "no update: " + ready.Message
}

// observation describes an object that a component only observes: its wave, and why the component waits for it. The
// message has the user that may not read the object.
func observation(key manifests.Key, status *metav1alpha1.Status) (text string, ok bool) {
	entries, err := metav1alpha1.ParseInventory(status.Observed)
	i := slices.IndexFunc(entries, func(e metav1alpha1.InventoryEntry) bool {
		return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name} == key
	})
	if err != nil || i < 0 {
		return "", false
	}
	text = fmt.Sprintf("only read, in wave %d", entries[i].Order)
	for _, waiting := range status.Waiting {
		if waiting.Dependent == key.String() {
			return fmt.Sprintf("%s; the component waits for it: %s: %s", text, waiting.Reason, waiting.Message), true
		}
	}
	return text + "; the component does not wait for it", true
}

func awaitedBy(key manifests.Key, obj *unstructured.Unstructured, revision int64) show.Why {
	return show.Why{
		Object: show.WhyObject{Group: key.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
		Component: manifests.Key{
			Group: v1alpha1.GroupVersion.Group, Kind: "Component", Namespace: obj.GetNamespace(), Name: obj.GetName(),
		}.String(),
		Reconciler: operator.ReconcilerName, Revision: revision,
	}
}
