package reconcile

import (
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestAPassWithoutItsInputsMakesTheRepairsOfTheLastRendering(t *testing.T) {
	for name, c := range map[string]struct {
		last    *rendering.Set
		repairs bool
	}{
		"if it is in memory":        {&rendering.Set{}, true},
		"and none if it is unknown": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withRecord)
			w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
			w.last, w.fails["inputs"] = c.last, errOh
			_, err := w.Apply(t.Context(), w.component())
			if err == nil {
				t.Error("the pass has no error, want that of the inputs")
			}
			if repaired := slices.Contains(w.steps, "apply"); repaired != c.repairs {
				t.Errorf("the pass made the calls %q, want repairs: %t", w.steps, c.repairs)
			}
			if r := w.request; c.repairs && (!r.Hold || !r.HoldExports || len(r.Inventory) != 1 || r.Trigger == "") {
				t.Errorf("the request is %+v, want one that holds everything but repairs", r)
			}
		})
	}
}

func TestTheMessageSaysWhatARepairNeeds(t *testing.T) {
	missing := metav1alpha1.DependentReport{Dependent: "ConfigMap shop/a", Message: "missing"}
	var o outcome.Outcome
	o.Ready, o.Desired, o.Waiting = 1, 2, []result.Waiting{{DependentReport: missing}}
	for want, cause := range map[string]*passerror.Error{
		"1 of 2 dependents are ready; a repair of the others needs these inputs, because": {},
		"1 of 2 dependents are ready; the others are repaired when these components are Ready, because": {
			Components: []metav1alpha1.DependentReport{{Dependent: "Part.example.com shop/db"}},
		},
	} {
		if got := unrepaired(cause, o).Error(); !strings.Contains(got, want) {
			t.Errorf("the message is %q, and does not contain %q", got, want)
		}
	}
}
