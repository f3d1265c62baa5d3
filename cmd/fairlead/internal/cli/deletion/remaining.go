package deletion

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/ownership"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxKept is the number of objects that stay in the cluster, and that delete names.
const maxKept = 10

// tellKept prints the dependents that stay in the cluster because of their delete policy, and those of them that belong
// to somebody else by now. It also prints the namespaces that stay only if others use them. It prints nothing if the
// inventory cannot be read.
func tellKept(ctx context.Context, f cluster.Object, tell func(line string)) {
	status, err := cluster.StatusIfAny(f.Target, f.Live)
	if err != nil {
		return
	}
	inventory, err := tree.Inventory(ctx, f.Cluster, &status)
	if err != nil {
		return
	}
	for _, e := range deletionrights.MayBeKept(inventory) {
		tell(fmt.Sprintf("%s is deleted with the component, unless others use it", deletionrights.KeyOf(e)))
	}
	kept := deletionrights.Kept(inventory)
	for _, e := range kept[:min(len(kept), maxKept)] {
		why := keptByPolicy
		if status.TargetCluster == "" {
			why = whyKept(ctx, f, e)
		}
		if why != "" {
			tell(fmt.Sprintf("%s stays in the cluster, %s", deletionrights.KeyOf(e), why))
		}
	}
	if more := len(kept) - maxKept; more > 0 {
		tell("the delete policies keep " + plural.Of(more, "more object") + " in the cluster")
	}
}

// keptByPolicy is why a dependent stays that belongs to the component.
const keptByPolicy = "because of its delete policy"

// whyKept reads a dependent with a delete policy that keeps it, and says why it stays. The text is empty if the object
// does not exist. If the object cannot be read, the policy decides.
func whyKept(ctx context.Context, f cluster.Object, e metav1alpha1.InventoryEntry) string {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind})
	err := f.Cluster.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: e.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return ""
	case err != nil:
		return keptByPolicy
	}
	kind := f.Target.Mapping.GroupVersionKind
	return keptBy(e, live, manifests.Key{
		Group: kind.Group, Kind: kind.Kind, Namespace: f.Target.Namespace, Name: f.Target.Name,
	})
}

// keptBy says why a live object stays when its component is deleted. e is the inventory entry of the object, whose
// delete policy keeps it. An object with the marks of the component belongs to it, also if it has another UID, because
// it was restored from a backup. A copy of another object does not.
func keptBy(e metav1alpha1.InventoryEntry, live metav1.Object, component manifests.Key) string {
	_, name := marks.OwnerOf(live.GetLabels(), live.GetAnnotations(), "", "")
	owner, known := manifests.ParseOwner(name)
	isMarked := known && owner.Component() == component
	_, isCopy := marks.CopyOf(deletionrights.KeyOf(e), live.GetAnnotations(), owner.Reconciler)
	switch by := ownership.WriterOf(live); {
	case isMarked && !isCopy:
		return keptByPolicy
	case by != "" && !isMarked:
		return "because it belongs to " + by + " by now"
	case e.UID != "" && e.UID != live.GetUID():
		return "because somebody created it again, so it does not belong to the component"
	case e.UID == "" || isCopy:
		return "because it does not belong to the component"
	}
	return "because it does not belong to the component any more: its owner label was removed"
}
