package execute

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// orphan takes our label and our annotations off exactly the object that was observed; the rest of it stays as it is.
func (e *Executor) orphan(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": a.UID, "resourceVersion": a.ResourceVersion,
		"labels": map[string]any{e.reconciler + "/" + manifests.LabelOwnerID: nil},
		"annotations": map[string]any{
			e.reconciler + "/" + manifests.AnnotationOwnerID: nil, e.reconciler + "/" + manifests.AnnotationDigest: nil,
		},
	}})
	if err != nil {
		return nil, err
	}
	obj, err := resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: e.reconciler})
	if isNotFound(err) {
		return &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: a.UID}, nil
	}
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}
