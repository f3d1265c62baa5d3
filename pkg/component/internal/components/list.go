package components

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ListLive lists the components in a namespace, or in all namespaces if namespace is empty, from the API server, and
// returns their names.
func (s *Store) ListLive(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(s.options.GVK.GroupVersion().WithKind(s.options.GVK.Kind + "List"))
	if err := s.options.Reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	names := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
	}
	return names, nil
}

// CountDependents returns the number of recorded dependents of each cached component in a namespace, by name.
func (s *Store) CountDependents(ctx context.Context, namespace string) (map[string]int, error) {
	cached, err := s.ListCached(ctx, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int, len(cached))
	for _, component := range cached {
		counts[component.GetName()] = int(component.GetStatus().Dependents.Total)
	}
	return counts, nil
}

// ListCached returns the components in the cache, which may be restricted to some namespaces or by a selector. The
// returned objects are read-only. It returns an empty list if the scheme has no list type for the components.
func (s *Store) ListCached(ctx context.Context, options ...client.ListOption) ([]Object, error) {
	obj, err := s.options.Client.Scheme().New(s.options.GVK.GroupVersion().WithKind(s.options.GVK.Kind + "List"))
	list, ok := obj.(client.ObjectList)
	if err != nil || !ok {
		return nil, nil
	}
	if err := s.options.Client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var components []Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if component, ok := item.(Object); ok {
			components = append(components, component)
		}
		return nil
	})
	return components, err
}
