package helm

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// clientProvider gives Helm's function lookup access to the target. It holds the context of one rendering, because Helm passes none.
type clientProvider struct {
	ctx    context.Context
	target generator.Lookup
}

// GetClientFor implements engine.ClientProvider. Every kind is called namespaced: the target ignores the namespace of those that are not.
func (p clientProvider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	return lookupClient{ctx: p.ctx, target: p.target, gvk: gvk}, true, nil
}

// lookupClient reads objects of a kind. Templates get copies, because they can change what they get. Helm calls Namespace, Get and List only;
// the embedded interface, which is nil, completes the type.
type lookupClient struct {
	dynamic.NamespaceableResourceInterface
	ctx       context.Context
	target    generator.Lookup
	gvk       schema.GroupVersionKind
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (c lookupClient) Namespace(namespace string) dynamic.ResourceInterface {
	c.namespace = namespace
	return c
}

// Get implements dynamic.ResourceInterface.
func (c lookupClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	object, err := c.target.Get(c.ctx, c.gvk, c.namespace, name)
	if err != nil {
		return nil, c.notFound(err, name)
	}
	return object.DeepCopy(), nil
}

// List implements dynamic.ResourceInterface.
func (c lookupClient) List(_ context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := c.target.List(c.ctx, c.gvk, c.namespace)
	if err != nil {
		return nil, c.notFound(err, "")
	}
	return list.DeepCopy(), nil
}

// notFound makes a kind that is not served an object that does not exist: its definition may be a dependent of this very rendering.
func (c lookupClient) notFound(err error, name string) error {
	if meta.IsNoMatchError(err) {
		return apierrors.NewNotFound(schema.GroupResource{Group: c.gvk.Group, Resource: c.gvk.Kind}, name)
	}
	return err
}
