package execute

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// takeOver makes the component the owner of an object that has another owner. takeOver sends a single write, so that
// the object always has exactly one owner. takeOver returns the changed action; the caller continues with this action.
func (w *writer) takeOver(ctx context.Context, a plan.Action) (plan.Action, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return a, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if apierror.IsNotFound(err) {
		return a, staleConflict(a)
	}
	if err != nil {
		return a, err
	}
	if found := w.observe(ctx, live, a); found.UID != a.Preconditions.UID || found.Owner != a.Preconditions.Owner {
		return a, staleConflict(a)
	}
	data, err := json.Marshal(map[string]any{"metadata": takeoverPatch(live, a, w.reconciler)})
	if err != nil {
		return a, err
	}
	options := metav1.PatchOptions{FieldManager: w.view.FieldManager()}
	obj, err := resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, options)
	if apierror.IsNotFound(err) {
		return a, staleConflict(a)
	}
	if err != nil {
		return a, err
	}
	// The API server lists the fields of this patch under the operation Update, so they must be migrated.
	a.Preconditions.ResourceVersion, a.Migrate = obj.GetResourceVersion(), true
	if !w.dryRun {
		// After a dry run, the object still has its owner.
		a.Preconditions.Owner = a.Owner
	}
	return a, nil
}

// takeoverPatch returns a merge patch of the metadata of an object. The UID and the resource version in the patch make
// sure that no other object is changed. The patch replaces the labels and annotations of other reconcilers by ours. The
// patch also removes the marks of other tools, and the controller from the owner references, because garbage collection
// would delete the object together with this controller.
func takeoverPatch(live *unstructured.Unstructured, a plan.Action, reconciler string) map[string]any {
	manifest, labels, annotations := a.Object.Body, map[string]any{}, map[string]any{}
	removed := removedMarks(live, a, reconciler)
	for _, key := range removed.Labels {
		labels[key] = nil
	}
	for _, key := range removed.Annotations {
		annotations[key] = nil
	}
	for label := range live.GetLabels() {
		other, owns := strings.CutSuffix(label, "/"+manifests.LabelOwnerID)
		_, named := live.GetAnnotations()[other+"/"+manifests.AnnotationOwnerID]
		if !owns || !named || other == reconciler {
			continue
		}
		labels[label] = nil
		for key := range live.GetAnnotations() {
			if settingtext.IsMark(other, key) {
				annotations[key] = nil
			}
		}
	}
	ownerLabel, ownerAnnotation := reconciler+"/"+manifests.LabelOwnerID, reconciler+"/"+manifests.AnnotationOwnerID
	labels[ownerLabel] = manifest.GetLabels()[ownerLabel]
	annotations[ownerAnnotation] = manifest.GetAnnotations()[ownerAnnotation]
	if name, named := manifest.GetAnnotations()[reconciler+"/"+marks.AnnotationObject]; named {
		annotations[reconciler+"/"+marks.AnnotationObject] = name
	}
	patch := map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": labels, "annotations": annotations,
	}
	references := live.GetOwnerReferences()
	rest := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool {
		return r.Controller != nil && *r.Controller
	})
	if len(rest) < len(references) {
		patch["ownerReferences"] = rest
	}
	return patch
}
