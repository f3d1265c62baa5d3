package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// deleteSteps are the steps of Pass.Delete for a component with dependents, in order.
var deleteSteps = []string{
	"owner", "target", "check the kubeconfig", "load", "protect the kubeconfig", "phases", "delete",
}

// deletion returns a world with a component that is being deleted and has dependents.
func deletion(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, withRecord, deleted)
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	return w
}

func TestADeletionTakesItsStepsInOrder(t *testing.T) {
	w := deletion(t)
	w.hook(PreDelete, PostDelete)
	w.inApply = func(ctx context.Context, r applier.Request) error { return r.Before(ctx) }
	if _, err := w.Delete(t.Context(), w.component()); err != nil {
		t.Error(err)
	}
	w.expect(append(slices.Clone(deleteSteps), "hook PreDelete", "hook PostDelete")...)
	r := w.request
	if len(r.Inventory) != 1 || r.PreDelete[0].Version != "pre" || r.PostDelete[0].Version != "post" {
		t.Errorf("got %+v", r)
	}
}

func TestAnErrorOfAStepEndsADeletion(t *testing.T) {
	for i, step := range deleteSteps {
		if step == "check the kubeconfig" {
			continue
		}
		t.Run(step, func(t *testing.T) {
			w := deletion(t)
			w.hook(PostDelete)
			w.fails[step] = errOh
			_, err := w.Delete(t.Context(), w.component())
			failure := passerror.Of(err)
			if failure == nil || !strings.Contains(failure.Message, "oh") {
				t.Errorf("got %v", err)
			}
			hinted := strings.HasSuffix(failure.Message, status.HintGiveUp)
			if hinted != (step == "owner" || step == "target") {
				t.Errorf("the message ends with HintGiveUp: %t, want this only for the steps owner and target", hinted)
			}
			want := deleteSteps[:i+1]
			if step == "target" {
				want = deleteSteps[:i+2]
			}
			w.expect(want...)
		})
	}
}

func TestADeletionWaitsForItsTarget(t *testing.T) {
	for _, c := range []struct {
		name   string
		edits  []func(*part)
		answer error
		waits  bool
		hooks  bool
	}{
		{"until the watch has delivered", []func(*part){deleted}, passerror.ErrObserving, true, false},
		{"not if there never was a dependent", []func(*part){deleted}, errOh, false, true},
		{"with an error if there are dependents", []func(*part){withRecord, deleted}, errOh, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.edits...)
			w.hook(PreDelete, PostDelete)
			w.fails["target"] = c.answer
			o, err := w.Delete(t.Context(), w.component())
			if o.Observing != c.waits || (err == nil) != (c.waits || c.hooks) {
				t.Errorf("got %+v, %v", o, err)
			}
			want := deleteSteps[:3]
			if c.hooks {
				want = append(slices.Clone(want), "hook PreDelete", "hook PostDelete")
			}
			w.expect(want...)
		})
	}
}

func TestADeletionNeedsItsTargetForUnconfirmedDependents(t *testing.T) {
	w := newWorld(t, deleted)
	c := w.component()
	c.State.addCreated(w.target.Client, outcome.Outcome{
		Created: plan.NewInventory([]metav1alpha1.InventoryEntry{settings}),
	})
	w.fails["target"] = errOh
	if _, err := w.Delete(t.Context(), c); err == nil {
		t.Error("Delete returned no error, although the target of a created dependent is unavailable")
	}
}

func TestADeletionInAnotherClusterIsRefused(t *testing.T) {
	w := deletion(t)
	w.target.Cluster = "there"
	_, err := w.Delete(t.Context(), w.component())
	failure := passerror.Of(err)
	if failure == nil || failure.Reason != metav1alpha1.ReasonInvalidSpec ||
		!strings.HasSuffix(failure.Message, status.HintGiveUp) {
		t.Errorf("got %v", failure)
	}
	w.expect(deleteSteps[:4]...)
}

func TestADeletionUsesTheManagedTypesOfTheLastApply(t *testing.T) {
	w := deletion(t)
	c := w.component()
	c.GetStatus().ManagedTypes = []string{"Widget.example.com"}
	_, err := w.Delete(t.Context(), c)
	if err != nil || len(w.request.Managed) != 1 || w.request.Managed[0].Kind != "Widget" {
		t.Errorf("got %v, %v", w.request.Managed, err)
	}
	c.GetStatus().ManagedTypes = []string{"widgets", "Widget.example.com", ""}
	_, err = w.Delete(t.Context(), c)
	failure := passerror.Of(err)
	if failure == nil || failure.Reason != metav1alpha1.ReasonRetrying ||
		!strings.HasPrefix(failure.Message, "status.managedTypes: ") {
		t.Errorf("got %v", failure)
	}
}

func TestADeletionThatWaitsCallsNoLastHook(t *testing.T) {
	w := deletion(t)
	w.hook(PreDelete, PostDelete)
	w.outcome.Waiting = []result.Waiting{{}}
	w.outcome.Skipped = []manifests.Key{{Name: "bye"}}
	if o, err := w.Delete(t.Context(), w.component()); err != nil || o.Done() || len(w.events) != 0 {
		t.Errorf("Delete returned the outcome %+v, the error %v and the events %v", o, err, w.events)
	}
	w.expect(deleteSteps...)
}

func TestADeletionTellsWhatItLeavesOut(t *testing.T) {
	w := deletion(t)
	w.loaded.Unsearched = "not listed: widgets"
	w.phases = []status.Event{status.Warning("PhasesLost", "")}
	w.outcome.Skipped = []manifests.Key{{Kind: "Job", Namespace: "shop", Name: "bye"}}
	o, err := w.Delete(t.Context(), w.component())
	if err != nil || o.Unsearched != "not listed: widgets" {
		t.Errorf("Delete returned the outcome %+v and the error %v, want the unsearched types", o, err)
	}
	var reasons []string
	for _, e := range w.events {
		reasons = append(reasons, e.Reason)
	}
	if !slices.Equal(reasons, []string{"PhasesLost", "PhasesSkipped"}) || !strings.Contains(w.events[1].Note, "bye") {
		t.Errorf("the deletion emitted the wrong events %v", w.events)
	}
}

func TestAHookThatFailsKeepsTheComponent(t *testing.T) {
	for _, point := range []Point{PreDelete, PostDelete} {
		w := deletion(t)
		w.hook(PreDelete, PostDelete)
		w.fails["hook "+string(point)] = errOh
		_, err := w.Delete(t.Context(), w.component())
		failure := passerror.Of(err)
		if failure == nil || !errors.Is(failure.Cause, errOh) || failure.State != metav1alpha1.StateDeleting {
			t.Errorf("a failure of the hook at the point %s: got %v", point, err)
		}
	}
}

func TestCreatedDependentsOfADeletionAreUnconfirmed(t *testing.T) {
	w := deletion(t)
	w.outcome.Created = plan.NewInventory([]metav1alpha1.InventoryEntry{settings})
	w.fails["delete"] = errOh
	c := w.component()
	if _, err := w.Delete(t.Context(), c); err == nil || len(c.State.unconfirmed.entries) != 1 {
		t.Errorf("got %+v, %v", c.State.unconfirmed, err)
	}
}

func TestAnInterruptedDeletionHasNoHint(t *testing.T) {
	for _, failure := range []error{context.Canceled, passerror.ErrSuperseded, passerror.ErrObserving} {
		if got := withHintGiveUp(failure); !errors.Is(got, failure) {
			t.Errorf("withHintGiveUp returned %v, want the given error", got)
		}
	}
}
