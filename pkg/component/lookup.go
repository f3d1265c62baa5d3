package component

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// lookup reads from the target for a generator.
func (e *Engine) lookup() generator.Lookup { return lookup{e} }

type lookup struct{ engine *Engine }

// Get reads one object.
func (l lookup) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	resource, err := l.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, name, metav1.GetOptions{})
}

// List reads all objects of a type.
func (l lookup) List(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (*unstructured.UnstructuredList, error) {
	resource, err := l.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return resource.List(ctx, metav1.ListOptions{})
}

func (l lookup) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := l.engine.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		return l.engine.dynamic.Resource(mapping.Resource), nil
	}
	return l.engine.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// capabilities asks the API server what it is and serves. A group that does not answer is left out: one broken aggregated API must not
// break every rendering.
func (e *Engine) capabilities() (generator.Capabilities, error) {
	version, err := e.discovery.ServerVersion()
	if err != nil {
		return generator.Capabilities{}, err
	}
	_, lists, err := e.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return generator.Capabilities{}, err
	}
	c := generator.Capabilities{Version: *version}
	for _, list := range lists {
		c.APIVersions = append(c.APIVersions, list.GroupVersion)
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				c.APIVersions = append(c.APIVersions, list.GroupVersion+"/"+r.Kind)
			}
		}
	}
	slices.Sort(c.APIVersions)
	c.APIVersions = slices.Compact(c.APIVersions)
	return c, nil
}
