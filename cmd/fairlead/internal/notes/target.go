package notes

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Discovery reads the version of a cluster and the types that it serves.
type Discovery interface {
	discovery.ServerVersionInterface
	discovery.ServerResourcesInterface
}

// capabilities returns the capabilities of a cluster. API groups whose discovery fails are left out.
func capabilities(about Discovery) (generator.Capabilities, error) {
	version, err := about.ServerVersion()
	if err != nil {
		return generator.Capabilities{}, err
	}
	_, lists, err := about.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return generator.Capabilities{}, err
	}
	var served []string
	for _, list := range lists {
		served = append(served, list.GroupVersion)
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				served = append(served, list.GroupVersion+"/"+resource.Kind)
			}
		}
	}
	return generator.Capabilities{Version: *version, APIVersions: generator.NewAPIVersions(served...)}, nil
}

// lookup reads objects for a generator.
type lookup struct{ client.Client }

// Get implements generator.Lookup.
func (l lookup) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

// List implements generator.Lookup.
func (l lookup) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	return list, l.Client.List(ctx, list, client.InNamespace(namespace))
}
