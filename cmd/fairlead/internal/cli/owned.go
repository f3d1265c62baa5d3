package cli

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// parentOf returns who writes a component besides people: the component that has it among its dependents, its
// controller, or a Helm release. It returns an empty text if the component shows none of them.
func parentOf(obj metav1.Object) string {
	id, name := manifests.OwnerOf(obj.GetLabels(), obj.GetAnnotations(), "", "")
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

// warnOfParent warns that somebody may create a component again that a person deletes.
func (a *app) warnOfParent(target cluster.Target, obj *unstructured.Unstructured) {
	if parent := parentOf(obj); parent != "" {
		a.warn(fmt.Errorf("%s is written by %s, which may create it again", target, parent))
	}
}
