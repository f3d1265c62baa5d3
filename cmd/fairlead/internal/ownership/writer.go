package ownership

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// WriterOf returns who writes a component besides people: the component that has it among its dependents, its
// controller, or a Helm release. It returns an empty text if the component shows none of them.
func WriterOf(obj metav1.Object) string {
	id, name := marks.OwnerOf(obj.GetLabels(), obj.GetAnnotations(), "", "")
	if owner, ok := manifests.ParseOwner(name); ok {
		return fmt.Sprintf("%s (reconciler %s)", owner.Component(), owner.Reconciler)
	}
	if id != "" {
		return "a component with the owner id " + id
	}
	if controller := metav1.GetControllerOf(obj); controller != nil {
		return fmt.Sprintf("%s %s", controller.Kind, controller.Name)
	}
	if release := obj.GetAnnotations()["meta.helm.sh/release-name"]; release != "" {
		return fmt.Sprintf("the Helm release %s/%s", obj.GetAnnotations()["meta.helm.sh/release-namespace"], release)
	}
	return ""
}
