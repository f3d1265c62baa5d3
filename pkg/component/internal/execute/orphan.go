package execute

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// orphan takes off the object that was observed what tells of us: label, annotations, and our entries in the managed fields. All values
// stay as they are. The entries must be read first: watches drop them.
func (e *Executor) orphan(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	gone := &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.Preconditions.UID}
	live, err := e.get(ctx, a)
	if isNotFound(err) {
		return gone, nil
	}
	if err != nil {
		return nil, err
	}
	if found := e.observe(live, a); found.UID != a.Preconditions.UID || !inSameHands(found, a) {
		return nil, overtaken(a)
	}
	data, err := json.Marshal(map[string]any{"metadata": unmarked(live, e.reconciler)})
	if err != nil {
		return nil, err
	}
	obj, err := resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: e.reconciler})
	if isNotFound(err) {
		return gone, nil
	}
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}

// unmarked is a merge patch of the metadata of exactly this object, which takes off what a reconciler left on it. Finalizers stay: none
// is ours, except where the object is a component itself, and then it is needed.
func unmarked(live *unstructured.Unstructured, reconciler string) map[string]any {
	patch := map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
		"labels": unmarkedKeys(live.GetLabels(), reconciler), "annotations": unmarkedKeys(live.GetAnnotations(), reconciler),
	}
	entries := live.GetManagedFields()
	others := slices.DeleteFunc(slices.Clone(entries), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == reconciler && m.Subresource == ""
	})
	switch {
	case len(others) == len(entries):
	case len(others) == 0:
		// The API server takes an empty list for one that was left out, and a list of an empty entry for an empty one.
		patch["managedFields"] = []any{map[string]any{}}
	default:
		patch["managedFields"] = others
	}
	return patch
}

// unmarkedKeys is a merge patch of labels or annotations.
func unmarkedKeys(values map[string]string, reconciler string) map[string]any {
	patch := map[string]any{}
	for key := range values {
		if manifests.IsMark(reconciler, key) {
			patch[key] = nil
		}
	}
	return patch
}
