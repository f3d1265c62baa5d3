package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// conditionParameters returns the parameters that the conditions of objects see: the values of spec.inputs, at the
// places that they have in templates, and spec.values, which override them. Polled values are also at inputs.polled, as
// in earlier versions. The result is nil for a component without inputs.
func conditionParameters(ctx context.Context, req generator.Request) (map[string]any, error) {
	c, ok := req.Component.(*v1alpha1.Component)
	if !ok || len(c.Spec.Inputs) == 0 {
		return nil, nil
	}
	inputs, err := inputValues(ctx, c, req)
	if err != nil {
		return nil, err
	}
	_, taken, err := unstructured.NestedFieldNoCopy(inputs, "inputs", polledInput)
	if polls, ok := req.Inputs[polledInput].(map[string]any); ok && !taken && err == nil {
		if err := unstructured.SetNestedField(inputs, runtime.DeepCopyJSON(polls), "inputs", polledInput); err != nil {
			return nil, err
		}
	}
	own, err := c.GetParameters()
	if err != nil {
		return nil, err
	}
	return merge(inputs, own), nil
}
