package execute

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// createNamespace creates a namespace without a mark of ours: it is no dependent.
func (e *Executor) createNamespace(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := e.resource(a)
	if err != nil {
		return nil, err
	}
	body := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": a.Key.Kind, "metadata": map[string]any{"name": a.Key.Name},
	}}
	obj, err := resource.Create(ctx, body, metav1.CreateOptions{FieldManager: e.reconciler})
	if err != nil {
		return nil, err
	}
	return e.observe(obj, a), nil
}
