package dependencies

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// consents reports whether a component may depend on another one. Across namespaces, the other component must name the
// namespace of the component. allows are the namespaces that the other component names; it is empty if the other
// component does not exist.
//
// Without consent, the component waits, and does not hold the other one. Nothing else about the other component may
// have an effect on the component, because the owner of one namespace must not learn what exists in another namespace.
func consents(component, on types.NamespacedName, allows []string) bool {
	return component.Namespace == on.Namespace || slices.Contains(allows, component.Namespace)
}
