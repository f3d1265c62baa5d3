package component

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The client empties a component before it decodes the answer to a write into it; an event that arrived just then woke nobody.
func TestPassWakesItsComponentWhileThatIsWritten(t *testing.T) {
	var woken []types.NamespacedName
	r := NewReconciler[*part]("test.example.com", generator.GeneratorFunc(nil), Options{})
	r.wake = func(name types.NamespacedName) { woken = append(woken, name) }
	component := &part{}
	component.SetNamespace("shop")
	component.SetName("web")
	pass := r.newPass(component, manifests.Owner{}, nil)
	*component = part{}
	pass.Wake()
	if want := (types.NamespacedName{Namespace: "shop", Name: "web"}); len(woken) != 1 || woken[0] != want {
		t.Errorf("woken: %v, want %v", woken, want)
	}
}

// TestChangesAreCalledWhatTheyMean: adoption is never silent, however it is written.
func TestChangesAreCalledWhatTheyMean(t *testing.T) {
	for _, c := range []struct {
		action plan.Action
		want   string
	}{
		{plan.Action{Verb: plan.VerbApply, Reason: plan.ReasonAdopted}, "Adopt"},
		{plan.Action{Verb: plan.VerbReplace, Reason: plan.ReasonTakenOver}, "Adopt"},
		{plan.Action{Verb: plan.VerbReplace, Reason: plan.ReasonDrifted}, "Replace"},
		{plan.Action{Verb: plan.VerbOrphan, Reason: plan.ReasonOrphaned}, "Orphan"},
		{plan.Action{Verb: plan.VerbCreateNamespace, Reason: plan.ReasonNamespace}, "Create"},
	} {
		if got := changeOf(c.action).Verb; got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.action.Verb, c.action.Reason, got, c.want)
		}
	}
}
