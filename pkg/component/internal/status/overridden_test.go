package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestTheConditionOverriddenNamesDependentsAndFields(t *testing.T) {
	entry := func(name, overridden string) metav1alpha1.InventoryEntry {
		return metav1alpha1.InventoryEntry{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: name,
			Overridden: overridden,
		}
	}
	var many []metav1alpha1.InventoryEntry
	for i := range 12 {
		many = append(many, entry(fmt.Sprintf("d%02d", i), "spec.a is missing"))
	}
	next := func(before metav1alpha1.Status, deleting bool, inventory ...metav1alpha1.InventoryEntry) (metav1alpha1.Status,
		string,
	) {
		o := outcome.Outcome{Outcome: result.Outcome{
			Inventory: append([]metav1alpha1.InventoryEntry{}, inventory...), Applied: true,
		}}
		after, v := Next(before, Report{Generation: 1, Deleting: deleting, Outcome: o, Now: time.Unix(1000, 0)})
		if !deleting && v.State != metav1alpha1.StateReady {
			t.Errorf("the state is %s", v.State)
		}
		if c := meta.FindStatusCondition(after.Conditions, metav1alpha1.ConditionOverridden); c != nil {
			return after, string(c.Status) + " " + c.Reason + ": " + c.Message
		}
		return after, ""
	}
	first, got := next(metav1alpha1.Status{}, false, entry("a", ""), entry("web", "spec.replicas is 7 instead of 2"))
	want := "True ChangedByAdmission: a webhook, an admission policy or the API server changed what was sent: " +
		"Deployment.apps shop/web (spec.replicas is 7 instead of 2); change the manifest, or whatever changes the field"
	if got != want {
		t.Errorf("the condition is %q, want %q", got, want)
	}
	if e := OverrideEvent(&metav1alpha1.Status{}, &first); e.Type != "Warning" || e.Reason != "Overridden" ||
		!strings.HasSuffix(want, e.Note) {
		t.Errorf("the event is %+v", e)
	}
	if e := OverrideEvent(&first, &first); e != (Event{}) {
		t.Errorf("there is a second event: %+v", e)
	}
	if _, got = next(first, false, many...); !strings.Contains(got, "d09 (") || strings.Contains(got, "d10 (") ||
		!strings.Contains(got, "; and 2 more;") {
		t.Errorf("the condition about many dependents is %q", got)
	}
	if _, got = next(first, false, entry("web", "")); got != "" {
		t.Errorf("the condition stays without overridden fields: %q", got)
	}
	if _, got = next(first, true, entry("web", "spec.replicas is 7 instead of 2")); got != "" {
		t.Errorf("the condition stays during the deletion: %q", got)
	}
}
