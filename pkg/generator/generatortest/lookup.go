package generatortest

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Lookup is a generator.Lookup on a list of objects. It serves every kind.
type Lookup []*unstructured.Unstructured

var _ generator.Lookup = Lookup(nil)

// Get implements generator.Lookup.
func (l Lookup) Get(
	ctx context.Context,
	gvk schema.GroupVersionKind,
	namespace, name string,
) (*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, object := range l {
		if object.GroupVersionKind() == gvk && object.GetNamespace() == namespace && object.GetName() == name {
			return object, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name)
}

// List implements generator.Lookup. The objects are returned in the order of l.
func (l Lookup) List(
	ctx context.Context,
	gvk schema.GroupVersionKind,
	namespace string,
) (*unstructured.UnstructuredList, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	for _, object := range l {
		if object.GroupVersionKind() == gvk && (namespace == "" || object.GetNamespace() == namespace) {
			list.Items = append(list.Items, *object)
		}
	}
	return list, nil
}
