package manifests

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clean drops what only the server sets. It asks about the status only where there is one.
func (n normaliser) clean(body *unstructured.Unstructured, scope Scope) error {
	statusIsSubresource := true
	if body.Object["status"] != nil {
		var err error
		if statusIsSubresource, err = n.statusIsSubresource(body.GroupVersionKind(), scope); err != nil {
			return err
		}
	}
	return clean(body, statusIsSubresource)
}

// statusIsSubresource asks the set before the cluster, as for the scope. Of a type that nobody serves yet the answer does not matter: its
// objects are normalised again before they are written.
func (n normaliser) statusIsSubresource(gvk schema.GroupVersionKind, scope Scope) (bool, error) {
	if answer, ok := n.statuses[gvk]; ok {
		return answer, nil
	}
	if IsBuiltIn(gvk.Group) || scope == ScopeUnknown || n.StatusIsSubresource == nil {
		return true, nil
	}
	return n.StatusIsSubresource(gvk)
}

// definedStatuses says of the versions of a custom resource definition whether their status is a subresource.
func definedStatuses(definition *unstructured.Unstructured, gk schema.GroupKind) map[schema.GroupVersionKind]bool {
	statuses := map[schema.GroupVersionKind]bool{}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		name, _, _ := unstructured.NestedString(version, "name")
		status, _, _ := unstructured.NestedFieldNoCopy(version, "subresources", "status")
		statuses[gk.WithVersion(name)] = status != nil
	}
	return statuses
}
