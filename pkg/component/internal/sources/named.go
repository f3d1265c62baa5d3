package sources

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GetNamed returns one of the objects that are related to a component. The error is NotFound if the object does not exist
// or is not related to the component. No other object is read. The caller may change the result.
func (r *Related) GetNamed(ctx context.Context, name types.NamespacedName, key client.ObjectKey) (client.Object, error) {
	i, keys, err := r.related(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(keys, key) {
		return nil, i.notFound(key)
	}
	obj, err := i.body(ctx, key)
	if err != nil {
		return nil, err
	}
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("a copy of %T is no object", obj)
	}
	return copied, nil
}
