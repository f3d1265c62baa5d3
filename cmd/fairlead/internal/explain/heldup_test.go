package explain

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestAComponentThatWaitsForOthersIsHeldUp(t *testing.T) {
	for reason, want := range map[string]string{
		metav1alpha1.ReasonExportMissing:       "no update: why",
		metav1alpha1.ReasonReferenceCycle:      "no update: why",
		metav1alpha1.ReasonDependencyNotReady:  "no update: why",
		metav1alpha1.ReasonDependencyCycle:     "no update: why",
		metav1alpha1.ReasonDependedOn:          "no deletion: why",
		metav1alpha1.ReasonRenderingIncomplete: "why",
		metav1alpha1.ReasonDependentsNotReady:  "",
	} {
		ready := metav1.Condition{Type: metav1alpha1.ConditionReady, Reason: reason, Message: "why"}
		if got := componentHeldUp(metav1alpha1.Status{Conditions: []metav1.Condition{ready}}); got != want {
			t.Errorf("with reason %s, the component is held up because %q, not %q", reason, got, want)
		}
	}
	if got := componentHeldUp(metav1alpha1.Status{}); got != "" {
		t.Errorf("a component without a status is held up because %q", got)
	}
}
