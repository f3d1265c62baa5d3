package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

// Find reads a component. It returns an error with exit code 1 if the component does not exist.
func (c *Cluster) Find(ctx context.Context, target Target) (*unstructured.Unstructured, error) {
	obj := target.Blank()
	err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) && target.IsReadyMade() {
		return nil, exit.Refuse("%s does not exist in namespace %q%s", target, target.Namespace, sameName(ctx, c, target))
	}
	if apierrors.IsNotFound(err) && target.Namespace != "" {
		return nil, exit.Refuse("%s does not exist in namespace %q", target, target.Namespace)
	}
	if apierrors.IsNotFound(err) {
		return nil, exit.Refuse("%s does not exist", target)
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Blank returns an object that has only the type, namespace and name of the target.
func (t Target) Blank() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(t.Mapping.GroupVersionKind)
	obj.SetNamespace(t.Namespace)
	obj.SetName(t.Name)
	return obj
}

// pageSize is the maximum number of items in a response to a list request, because each component may have an inventory
// of a megabyte.
const pageSize = 100

// List calls visit for each object of a type, sorted by namespace and name. An empty namespace means all.
func (c *Cluster) List(
	ctx context.Context, mapping *meta.RESTMapping, namespace string, visit func(*unstructured.Unstructured) error,
) error {
	token := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(mapping.GroupVersionKind)
		if err := c.Client.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize),
			client.Continue(token)); err != nil {
			return err
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}

// Names returns the names of the components of a type. It reads metadata only.
func (c *Cluster) Names(ctx context.Context, kind string) ([]string, error) {
	target, err := c.Resolve(Reference{Type: kind})
	if err != nil {
		return nil, err
	}
	return c.names(ctx, target.Mapping.GroupVersionKind, target.Namespace)
}

// Namespaces returns the names of all namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, corev1.SchemeGroupVersion.WithKind("Namespace"), "")
}

func (c *Cluster) names(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	if err := c.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names, nil
}
