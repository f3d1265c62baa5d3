package notes

import (
	"context"
	"slices"
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
	served := generator.Capabilities{Version: *version}
	for _, list := range lists {
		served.APIVersions = append(served.APIVersions, list.GroupVersion)
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				served.APIVersions = append(served.APIVersions, list.GroupVersion+"/"+resource.Kind)
			}
		}
	}
	slices.Sort(served.APIVersions)
	served.APIVersions = slices.Compact(served.APIVersions)
	return served, nil
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
