package generator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Transformer changes rendered objects.
//
// Transform receives the request of the rendering and the rendered objects. It may change, add, remove and reorder the
// objects. The contract of Generate applies: equal output for equal input, safe for concurrent use, no network I/O. A
// Transformer should implement Versioner; see Chain.
type Transformer interface {
	Transform(
		ctx context.Context,
		req Request,
		objects []*unstructured.Unstructured,
	) ([]*unstructured.Unstructured, error)
}

// TransformerFunc adapts a function to a Transformer.
type TransformerFunc func(
	ctx context.Context, req Request, objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error)

// Transform calls f.
func (f TransformerFunc) Transform(
	ctx context.Context,
	req Request,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	return f(ctx, req, objects)
}

// ParameterTransformer changes the parameters of a rendering.
//
// TransformParameters returns the new parameters. It may change and return req.Parameters, which is a copy. The rest of
// the request is read-only, and the contract of Generate applies.
type ParameterTransformer interface {
	TransformParameters(ctx context.Context, req Request) (map[string]any, error)
}

// ParameterTransformerFunc adapts a function to a ParameterTransformer.
type ParameterTransformerFunc func(ctx context.Context, req Request) (map[string]any, error)

// TransformParameters calls f.
func (f ParameterTransformerFunc) TransformParameters(ctx context.Context, req Request) (map[string]any, error) {
	return f(ctx, req)
}

// detach returns copies of the objects as unstructured data. Transformers change the objects, and a generator may still
// use the objects that it returned.
func detach(objects []client.Object) ([]*unstructured.Unstructured, error) {
	copies := make([]*unstructured.Unstructured, 0, len(objects))
	for i, object := range objects {
		if object == nil {
			return nil, fmt.Errorf("the generator returned nil as object %d", i+1)
		}
		data, err := manifests.ToUnstructured(object, gvkOf)
		if err != nil {
			return nil, fmt.Errorf("%T %s: %w; set its apiVersion and kind", object, object.GetName(), err)
		}
		copied, err := copyOf(data)
		if err != nil {
			return nil, fmt.Errorf(
				"%s %s: the manifest cannot be written as JSON: %w",
				data.GetKind(),
				data.GetName(),
				err,
			)
		}
		copies = append(copies, copied)
	}
	return copies, nil
}

// copyOf copies through JSON, because custom generators may return numbers that DeepCopy does not support.
func copyOf(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	copied := &unstructured.Unstructured{}
	return copied, json.Unmarshal(text, &copied.Object)
}

func gvkOf(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, clientgoscheme.Scheme)
}

func asObjects(list []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(list))
	for i, object := range list {
		objects[i] = object
	}
	return objects
}

// copyParameters copies plain data.
func copyParameters(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, element := range value {
			copied[key] = copyParameters(element)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, element := range value {
			copied[i] = copyParameters(element)
		}
		return copied
	}
	return value
}
