package component

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rescoped says that a type has another scope than when the objects were normalised: it was defined anew.
func (e *Engine) rescoped(r rendering) bool {
	if r.resets == e.mapper.forgotten() {
		return false
	}
	scopes := map[schema.GroupVersionKind]manifests.Scope{}
	for _, o := range r.objects {
		gvk := o.GroupVersionKind()
		scope, asked := scopes[gvk]
		if !asked {
			var err error
			if scope, err = e.scopeOf(gvk); err != nil {
				scope = manifests.ScopeUnknown
			}
			scopes[gvk] = scope
		}
		if scope != manifests.ScopeUnknown && scope != o.Scope {
			return true
		}
	}
	return false
}

// scopeOf asks the API server for the scope of a type.
func (e *Engine) scopeOf(gvk schema.GroupVersionKind) (manifests.Scope, error) {
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return manifests.ScopeUnknown, nil
	case err != nil:
		return manifests.ScopeUnknown, err
	case mapping.Scope.Name() == meta.RESTScopeNameNamespace:
		return manifests.ScopeNamespaced, nil
	}
	return manifests.ScopeCluster, nil
}

// statusIsSubresource asks the API server whether the status of a type is a subresource.
func (e *Engine) statusIsSubresource(gvk schema.GroupVersionKind) (bool, error) {
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	served, err := e.discovery.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
	if err != nil {
		return false, fmt.Errorf("ask the API server whether the status of %s is a subresource: %w", gvk, err)
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool {
		return r.Name == mapping.Resource.Resource+"/status"
	}), nil
}
