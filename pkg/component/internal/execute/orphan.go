package execute

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apierror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// orphan removes our label, annotations and managed fields from an object, and adds the annotation that says which
// component released it. All other values stay. The object is read first, because watches do not store managed fields.
func (w *writer) orphan(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	live, err := w.clients.get(ctx, a)
	if apierror.IsNotFound(err) {
		return confirmedAbsent(a), nil
	}
	if err != nil {
		return nil, err
	}
	if found := w.observe(ctx, live, a); found.UID != a.Preconditions.UID || !sameOwner(found, a) {
		return nil, staleConflict(a)
	}
	data, err := json.Marshal(map[string]any{"metadata": orphanPatch(w.view.Own(live), a, w.reconciler)})
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: w.view.FieldManager()}
	obj, err := resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, options)
	if apierror.IsNotFound(err) {
		return confirmedAbsent(a), nil
	}
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}

// orphanPatch returns a merge patch of the metadata of an object. The UID and the resource version in the patch make
// sure that no other object is changed. The patch removes the labels, annotations and managed fields of the reconciler.
// It names the component in the annotation released-by, if the object still names this component as its owner.
// Finalizers stay, because the reconciler adds no finalizers to dependents. If the dependent is itself a component, it
// still needs the finalizer of its reconciler.
func orphanPatch(live *unstructured.Unstructured, a plan.Action, reconciler string) map[string]any {
	annotations := removedKeys(live.GetAnnotations(), reconciler)
	name := live.GetAnnotations()[reconciler+"/"+manifests.AnnotationOwnerID]
	if owner, ok := manifests.ParseOwner(name); ok && owner.ID() == a.Owner {
		annotations[reconciler+"/"+marks.AnnotationReleasedBy] = name
	}
	patch := map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
		"labels":      removedKeys(live.GetLabels(), reconciler),
		"annotations": annotations,
	}
	entries := live.GetManagedFields()
	others := slices.DeleteFunc(slices.Clone(entries), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == reconciler && m.Subresource == ""
	})
	switch {
	case len(others) == len(entries):
	case len(others) == 0:
		// The API server ignores an empty list. A list with an empty entry removes all managed fields.
		patch["managedFields"] = []any{map[string]any{}}
	default:
		patch["managedFields"] = others
	}
	return patch
}

// removedKeys returns a merge patch that removes a reconciler's labels or annotations.
func removedKeys(values map[string]string, reconciler string) map[string]any {
	patch := map[string]any{}
	for key := range values {
		if settingtext.IsMark(reconciler, key) {
			patch[key] = nil
		}
	}
	return patch
}
