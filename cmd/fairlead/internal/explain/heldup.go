package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// HeldUp explains an object that is not a dependent: because a dependency, a condition or an exported value holds it
// up, because its condition is false, or because a component only observes it. It reads the components of all types in
// the namespace of the object. found is false if none of them waits for the object, leaves it out or observes it, or if
// they cannot be read. incomplete are the components of the ready-made operator whose status may not list all objects
// for which they wait, or which they leave out.
func HeldUp(
	ctx context.Context, c *cluster.Cluster, target cluster.Target,
) (w show.Why, found bool, incomplete []string) {
	gvk := target.Mapping.GroupVersionKind
	key := manifests.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: target.Namespace, Name: target.Name}
	if target.Namespace == "" {
		return show.Why{}, false, nil
	}
	// If a type cannot be listed, the components of the others are still of use.
	_ = cluster.EachComponent(ctx, c, target.Namespace, func(o cluster.Object, status metav1alpha1.Status) error {
		for _, waiting := range status.Waiting {
			if waiting.Dependent == key.String() && isHoldUp(waiting) {
				found, w = true, awaitedBy(key, o, status)
				w.HeldUp = "not created yet: " + waiting.Message
			}
		}
		if text := leftOut(key, status); text != "" {
			found, w = true, awaitedBy(key, o, status)
			w.LeftOut = text
		}
		if observed, ok := observation(key, &status); ok {
			found, w = true, awaitedBy(key, o, status)
			w.Observed = observed
		}
		isFull := len(status.Waiting) >= maxReports || len(status.LeftOut) >= maxReports
		if isFull && o.Target.IsReadyMade() {
			incomplete = append(incomplete, o.Target.Name)
		}
		return nil
	})
	return w, found, incomplete
}

// maxReports is the maximum number of objects that each list of a status has.
const maxReports = 10

// isHoldUp reports whether a report says why a dependent is not applied yet, also after the timeout of its wait.
func isHoldUp(report metav1alpha1.DependentReport) bool {
	return result.IsHoldUp(report) || report.Reason == metav1alpha1.ReasonTimeout
}

// componentHeldUp says for which components or exports a component waits: of other components, or of its own dependents
// if its rendering asks for them. It is empty if the component waits for none.
func componentHeldUp(status metav1alpha1.Status) string {
	ready := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil {
		return ""
	}
	switch ready.Reason {
	case metav1alpha1.ReasonExportMissing, metav1alpha1.ReasonReferenceCycle, metav1alpha1.ReasonDependencyNotReady,
		metav1alpha1.ReasonDependencyCycle:
		return "no update: " + ready.Message
	case metav1alpha1.ReasonDependedOn:
		return "no deletion: " + ready.Message
	case metav1alpha1.ReasonRenderingIncomplete:
		return ready.Message
	}
	return ""
}

// addState adds to the result why the dependent is not ready or not updated. report is the report on it in the status,
// the zero value if there is none.
func (e explainer) addState(ctx context.Context, n tree.Node, report metav1alpha1.DependentReport) {
	r := e.result
	r.DependsOn = n.DependsOn
	if isHoldUp(report) && n.State == result.NodeReady {
		r.HeldUp = "not updated yet: " + report.Message
	}
	switch n.State {
	case result.NodeNotUpdated:
		if n.Reason != "" {
			r.NotUpdated = n.Reason + ": " + n.Message
		}
	case result.NodeInProgress, result.NodeFailed:
		r.NotReady, r.Causes = n.Message, dependentcauses.Find(ctx, e.cluster, n.Key)
	case result.NodeTerminating:
		r.NotReady = n.Message
	case result.NodeUnknown:
		// Only the operator can evaluate a condition that is written in Go.
		r.NotReady = cmp.Or(report.Message, n.Message)
	case result.NodeReady, result.NodeCompleted, result.NodeMissing:
	}
}

// observation describes an object that a component only observes: its wave, and why the component waits for it. The
// message names the user that may not read the object.
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

func awaitedBy(key manifests.Key, o cluster.Object, status metav1alpha1.Status) show.Why {
	owner := ownerIn(o, status)
	return show.Why{
		Object:    show.WhyObject{Group: key.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
		Component: owner.Component().String(), Reconciler: owner.Reconciler, Revision: status.Revision,
	}
}

// leftOut says why a component leaves an object out, by its status. It is empty if the object is not left out, or not
// among the objects that the status lists.
func leftOut(key manifests.Key, status metav1alpha1.Status) string {
	for _, report := range status.LeftOut {
		if report.Dependent == key.String() {
			return report.Message
		}
	}
	return ""
}

// LeftOut explains an object of a type that the cluster does not serve, given by its name, as Kind/name or
// Kind.group/name: a component may leave the object out until its type is served. It reads the components of all types
// in the namespace of c. found is false if none of them leaves out such an object.
func LeftOut(ctx context.Context, c *cluster.Cluster, name string) (w show.Why, found bool) {
	kind, name, _ := strings.Cut(name, "/")
	gk := schema.ParseGroupKind(kind)
	// If a type cannot be listed, the components of the others are still of use.
	_ = cluster.EachComponent(ctx, c, c.Namespace, func(o cluster.Object, status metav1alpha1.Status) error {
		for _, report := range status.LeftOut {
			key, ok := manifests.ParseKey(report.Dependent)
			if !ok || key.Name != name || !strings.EqualFold(key.Kind, gk.Kind) || gk.Group != "" && gk.Group != key.Group {
				continue
			}
			found, w = true, awaitedBy(key, o, status)
			w.LeftOut = report.Message
		}
		return nil
	})
	return w, found
}
