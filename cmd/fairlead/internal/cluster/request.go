package cluster

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/internal/apitext"
)

// Reconciler returns the name of the reconciler of a component, which is the prefix of its annotations. The status has
// the name. For the type of the ready-made operator, the name is also known without a status.
func Reconciler(target Target, status metav1alpha1.Status) (string, error) {
	switch {
	case status.Reconciler != "":
		return status.Reconciler, nil
	case target.IsReadyMade():
		return v1alpha1.GroupVersion.Group, nil
	}
	return "", exit.Refuse("%s: the operator has not reconciled it yet, so the prefix of its annotations is unknown",
		target)
}

// Annotate sets annotations of a component, and removes annotations whose value is empty. It returns the component
// after the write. The write contains the UID of obj, so that it fails if a new component has the same name.
func (c *Cluster) Annotate(
	ctx context.Context, obj *unstructured.Unstructured, annotations map[string]string,
) (*unstructured.Unstructured, error) {
	return c.merge(ctx, obj, annotations, nil)
}

// Suspend sets spec.suspend and annotations in one write. It returns an error if the type has no field spec.suspend.
func (c *Cluster) Suspend(
	ctx context.Context, target Target, obj *unstructured.Unstructured, suspend bool, annotations map[string]string,
) (*unstructured.Unstructured, error) {
	after, err := c.merge(ctx, obj, annotations, map[string]any{"suspend": suspend})
	if apitext.UnknownField(err, "spec.suspend") {
		return nil, exit.Refuse("%s has no field spec.suspend: components of this type cannot be suspended",
			target.Mapping.Resource.GroupResource())
	}
	return after, err
}

func (c *Cluster) merge(
	ctx context.Context, obj *unstructured.Unstructured, annotations map[string]string, spec map[string]any,
) (*unstructured.Unstructured, error) {
	values := make(map[string]any, len(annotations))
	for key, value := range annotations {
		values[key] = nil
		if value != "" {
			values[key] = value
		}
	}
	change := map[string]any{"metadata": map[string]any{"uid": obj.GetUID(), "annotations": values}}
	if spec != nil {
		change["spec"] = spec
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	after := obj.DeepCopy()
	// Without strict validation the API server would drop an unknown field without an error.
	return after, c.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), client.FieldValidation("Strict"))
}
