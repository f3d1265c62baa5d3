package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/apitext"
)

// Grant returns the command that grants the service account of a component the rights that its objects need. It is
// empty if the status does not say that a right is missing, if the type of the component is that of an author, and for
// a component with a kubeconfig, because its user needs the rights in another cluster.
func Grant(target Target, obj *unstructured.Unstructured, status metav1alpha1.Status) string {
	_, elsewhere, _ := unstructured.NestedMap(obj.Object, "spec", "kubeConfig")
	if !target.IsReadyMade() || elsewhere || obj.GetDeletionTimestamp() != nil {
		return ""
	}
	isNamed := slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool {
		return c.Type == metav1alpha1.ConditionStalled && apitext.NamesMissingRight(c.Message)
	})
	isNamed = isNamed || slices.ContainsFunc(status.Waiting, func(w metav1alpha1.DependentReport) bool {
		return apitext.NamesMissingRight(w.Message)
	})
	if status.State != metav1alpha1.StateStalled || !isNamed {
		return ""
	}
	return target.Command("rbac") + " --bind | kubectl apply -f -"
}
