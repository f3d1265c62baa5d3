package execute

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// evict makes an object ours that somebody else owns, in one write: at no time does it belong to nobody, or to both. It returns the action
// that goes on with an object of ours.
func (e *Executor) evict(ctx context.Context, a plan.Action) (plan.Action, error) {
	resource, err := e.resource(a)
	if err != nil {
		return a, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if isNotFound(err) {
		return a, overtaken(a)
	}
	if err != nil {
		return a, err
	}
	if found := e.observe(live, a); found.UID != a.Preconditions.UID || found.Owner != a.Preconditions.Owner {
		return a, overtaken(a)
	}
	data, err := json.Marshal(map[string]any{"metadata": evicted(live, a.Object.Body, e.reconciler)})
	if err != nil {
		return a, err
	}
	obj, err := resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: e.reconciler})
	if isNotFound(err) {
		return a, overtaken(a)
	}
	if err != nil {
		return a, err
	}
	// What this patch wrote is listed under a regular update.
	a.Preconditions.ResourceVersion, a.Preconditions.Owner, a.Migrate = obj.GetResourceVersion(), a.Owner, true
	return a, nil
}

// evicted is a merge patch of the metadata of exactly this object, which puts our marks in place of those of other reconcilers, and takes
// the controller out of its owner references: it would take the object along when it is deleted.
func evicted(live, manifest *unstructured.Unstructured, reconciler string) map[string]any {
	labels, annotations := map[string]any{}, map[string]any{}
	for label := range live.GetLabels() {
		other, owns := strings.CutSuffix(label, "/"+manifests.LabelOwnerID)
		if _, named := live.GetAnnotations()[other+"/"+manifests.AnnotationOwnerID]; !owns || !named || other == reconciler {
			continue
		}
		labels[label] = nil
		for key := range live.GetAnnotations() {
			if manifests.IsMark(other, key) {
				annotations[key] = nil
			}
		}
	}
	labels[reconciler+"/"+manifests.LabelOwnerID] = manifest.GetLabels()[reconciler+"/"+manifests.LabelOwnerID]
	annotations[reconciler+"/"+manifests.AnnotationOwnerID] = manifest.GetAnnotations()[reconciler+"/"+manifests.AnnotationOwnerID]
	patch := map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": labels, "annotations": annotations}
	references := live.GetOwnerReferences()
	rest := slices.DeleteFunc(slices.Clone(references), func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller })
	if len(rest) < len(references) {
		patch["ownerReferences"] = rest
	}
	return patch
}
