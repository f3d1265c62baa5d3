package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// maxOverridden is the maximum number of dependents that the condition Overridden names.
const maxOverridden = 10

// setOverridden sets the condition that names the dependents with overridden fields, and removes the condition if there
// are no such dependents, or if the component is being deleted.
func setOverridden(status *metav1alpha1.Status, r Report) {
	var named []string
	more := 0
	for _, e := range r.Outcome.Inventory {
		switch {
		case e.Overridden == "":
		case len(named) >= maxOverridden:
			more++
		default:
			named = append(named, plan.KeyOf(e).String()+" ("+e.Overridden+")")
		}
	}
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	message := "a webhook, an admission policy or the API server changed what was sent: " + strings.Join(named, "; ") +
		"; change the manifest, or whatever changes the field"
	set := conditionSetter(status, r.Generation, metav1alpha1.ReasonChangedByAdmission, message, r.Now)
	set(metav1alpha1.ConditionOverridden, metav1.ConditionTrue, len(named) > 0 && !r.Deleting)
}

// OverrideEvent returns the Event of a pass after which the condition Overridden is present with a new message. Without
// a new message there is no Event.
func OverrideEvent(before, after *metav1alpha1.Status) Event {
	is := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionOverridden)
	was := meta.FindStatusCondition(before.Conditions, metav1alpha1.ConditionOverridden)
	if is == nil || was != nil && was.Message == is.Message {
		return Event{}
	}
	return Warning(metav1alpha1.ConditionOverridden, is.Message)
}
