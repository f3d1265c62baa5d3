package component

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadAs reads an object in the cluster of the components by one request, with the rights of a component: as its
// service account, or as the user that it names. Use it in code outside of passes, such as the handler of a webhook, so
// that the author of a component cannot make the operator use an object that only the operator may read. The error is
// retryable before the start.
func (r *Reconciler[T]) ReadAs(
	ctx context.Context, component T, gvk schema.GroupVersionKind, key client.ObjectKey,
) (*unstructured.Unstructured, error) {
	local := r.local.Load()
	if local == nil {
		return nil, RetryAfter(errors.New("the reconciler has not started yet"), 0)
	}
	identity, err := declaredTarget(component).Identity(component.GetNamespace(), r.options.DefaultServiceAccount)
	if err != nil {
		return nil, err
	}
	client, err := local.As(identity)
	if err != nil {
		return nil, err
	}
	mapping, err := local.Discovery.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return client.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
}
