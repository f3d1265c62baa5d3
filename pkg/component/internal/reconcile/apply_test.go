package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// applySteps are the steps of Pass.Apply for a component with dependents, in order.
var applySteps = []string{
	"validate", "owner", "target", "check the kubeconfig", "declare", "inputs", "load", "protect the kubeconfig", "render",
	"begin", "apply",
}

func TestAnApplyTakesItsStepsInOrder(t *testing.T) {
	w := newWorld(t, withRecord)
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Error(err)
	}
	w.expect(applySteps...)
}

// A refused spec chooses neither the cluster nor the identity of a request, and permits nothing.
func TestDependentsAreRepairedWhileTheSpecIsRefusedIfItPermitsTheSame(t *testing.T) {
	known := []string{"validate", "owner", "target", "check the kubeconfig", "load"}
	for name, c := range map[string]struct {
		change func(*Declared)
		want   []string
	}{
		"the same":     {func(*Declared) {}, known},
		"another user": {func(d *Declared) { d.Target.Impersonate.User = "admin" }, known[:1]},
		"another cluster": {
			func(d *Declared) { d.Target.KubeConfig = &metav1alpha1.KubeConfigReference{Name: "k"} },
			known[:1],
		},
		"another policy":    {func(d *Declared) { d.Policies.Adoption = metav1alpha1.AdoptAlways }, known[:1]},
		"another take-over": {func(d *Declared) { d.Adopt = []metav1alpha1.AdoptRule{} }, known[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withRecord)
			w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
			if _, err := w.Apply(t.Context(), w.component()); err != nil {
				t.Fatal(err)
			}
			w.steps = nil
			c.change(&w.declared)
			w.fails["validate"] = errOh
			if _, err := w.Apply(t.Context(), w.component()); !errors.Is(err, errOh) {
				t.Errorf("got %v", err)
			}
			w.expect(c.want...)
		})
	}
}

func TestAnErrorOfAStepEndsAnApply(t *testing.T) {
	for i, step := range applySteps {
		if step == "check the kubeconfig" {
			continue
		}
		for name, failure := range map[string]error{"fails": errOh, "waits": passerror.ErrObserving} {
			t.Run(step+" "+name, func(t *testing.T) {
				w := newWorld(t, withRecord)
				w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
				w.fails[step] = failure
				o, err := w.Apply(t.Context(), w.component())
				want := applySteps[:i+1]
				if step == "target" {
					// A kubeconfig that was read before the error is still checked.
					want = applySteps[:i+2]
				}
				// The recorded dependents are repaired or counted.
				if name == "fails" && (step == "declare" || step == "inputs") {
					want = append(slices.Clone(want), "load")
				}
				w.expect(want...)
				waits := slices.Contains([]string{"owner", "target", "declare", "inputs", "render"}, step)
				if name == "waits" && waits {
					if err != nil || !o.Observing {
						t.Errorf("got %+v, %v", o, err)
					}
					return
				}
				if !errors.Is(err, failure) || o.Observing {
					t.Errorf("got %+v, %v", o, err)
				}
			})
		}
	}
}

func TestTheKubeconfigIsProtectedOnlyForDependents(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Error(err)
	}
	w.expect(slices.DeleteFunc(slices.Clone(applySteps), func(s string) bool { return s == "protect the kubeconfig" })...)
}

func TestDependentsAreNotMovedSilently(t *testing.T) {
	for _, c := range []struct {
		name    string
		move    func(*world)
		message string
	}{
		{
			"to another namespace", func(w *world) { w.inputs.Namespace = "other" },
			"target shop/web cannot change to other/web while the component has 1 dependent",
		},
		{
			"to another name", func(w *world) { w.inputs.Name = "other" },
			"target shop/web cannot change to shop/other while the component has 1 dependent",
		},
		{"to another cluster", func(w *world) { w.target.Cluster = "there" }, "the target is now cluster there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, withRecord)
			w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
			c.move(w)
			_, err := w.Apply(t.Context(), w.component())
			failure := passerror.Of(err)
			if failure == nil || failure.Reason != metav1alpha1.ReasonInvalidSpec ||
				!strings.Contains(failure.Message, c.message) || !errors.Is(failure.Cause, passerror.ErrPlacement) {
				t.Errorf("Apply returned the wrong condition error %v", failure)
			}
			w.expect("validate", "owner", "target", "check the kubeconfig", "declare", "inputs", "load")
			w.loaded.Entries = nil
			if _, err := w.Apply(t.Context(), w.component()); err != nil {
				t.Errorf("Apply of a component without dependents returned %v", err)
			}
		})
	}
}

func TestTheApplierGetsTheSetAndItsRevision(t *testing.T) {
	w := newWorld(t, withRecord)
	w.declared.Policies = metav1alpha1.Policies{Delete: metav1alpha1.DeleteOrphan}
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	w.inputs.Digest = "others"
	w.inputs.Managed = []manifests.ManagedType{{}}
	phase := manifests.Object{Settings: manifests.Settings{Phase: manifests.PhasePreDelete}}
	w.set = rendering.Set{Objects: []manifests.Object{rendered, phase}}
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Fatal(err)
	}
	r := w.request
	if len(r.Desired) != 1 || len(r.Managed) != 1 || len(r.Inventory) != 1 || r.Owner != owner || !r.Now.Equal(start) {
		t.Errorf("got %+v", r)
	}
	if r.Revision != 2 || r.Rendition != 0 || r.Policies.Delete != metav1alpha1.DeleteOrphan {
		t.Errorf("got %+v", r)
	}
}

func TestARequestedPassRepairsAtOnceAndAppliesNothingAgain(t *testing.T) {
	w := newWorld(t)
	requests := func(edit func(*Component)) applier.Request {
		t.Helper()
		c := w.component()
		edit(c)
		if _, err := w.Apply(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return w.request
	}
	first := requests(func(*Component) {})
	if again := requests(func(*Component) {}); again.Trigger != first.Trigger || again.RepairNonce != first.RepairNonce {
		t.Error("the trigger or the nonce differs although nothing has changed")
	}
	asked := requests(func(c *Component) {
		c.SetAnnotations(map[string]string{reconciler + "/" + metav1alpha1.AnnotationReconcileRequested: "now"})
	})
	if asked.Trigger != first.Trigger || asked.RepairNonce == first.RepairNonce {
		t.Error("a requested pass must have the same trigger and another nonce")
	}
	changed := requests(func(c *Component) { c.SetGeneration(2) })
	if changed.Trigger == first.Trigger || changed.RepairNonce == first.RepairNonce {
		t.Error("another generation must have another trigger and another nonce")
	}
}

func TestTheInputsThatAreAppliedAreNoted(t *testing.T) {
	w := newWorld(t)
	w.outcome.Applied = true
	c := w.component()
	w.fails["apply"] = errOh
	if _, err := w.Apply(t.Context(), c); err == nil || c.GetStatus().AppliedDigest != "" {
		t.Errorf("Apply must fail without a change of the applied digest, got the digest %q and the error %v",
			c.GetStatus().AppliedDigest, err)
	}
	delete(w.fails, "apply")
	if c.GetStatus().AppliedGeneration != 0 {
		t.Errorf("the generation %d is applied although the apply failed", c.GetStatus().AppliedGeneration)
	}
	c.SetGeneration(4)
	if _, err := w.Apply(t.Context(), c); err != nil || c.GetStatus().AppliedDigest != "inputs" ||
		c.GetStatus().AppliedGeneration != 4 {
		t.Errorf("the applied digest is %q, with the error %v", c.GetStatus().AppliedDigest, err)
	}
}

func TestCreatedDependentsCountAsRecordedUntilAStatusIsWritten(t *testing.T) {
	w := newWorld(t)
	created := settings
	created.Name = "created"
	w.outcome.Created = plan.NewInventory([]metav1alpha1.InventoryEntry{created, settings})
	w.fails["apply"] = errOh
	if _, err := w.Apply(t.Context(), w.component()); err == nil {
		t.Fatal("Apply returned no error, although a step failed")
	}
	w.loaded.Entries = []metav1alpha1.InventoryEntry{settings}
	w.loaded.Entries[0].Revision = 7
	w.outcome.Created = nil
	_, _ = w.Apply(t.Context(), w.component())
	if got := w.request.Inventory; len(got) != 2 || got[0].Name != "created" || got[1].Revision != 7 {
		t.Errorf("got %+v", got)
	}
	w.States.Of(web).confirm()
	_, _ = w.Apply(t.Context(), w.component())
	if got := w.request.Inventory; len(got) != 1 {
		t.Errorf("after a write of the status, the request has the inventory %+v, want one entry", got)
	}
}

func TestTheRecordIsWrittenBehindTheFinalizer(t *testing.T) {
	w := newWorld(t)
	w.inApply = func(ctx context.Context, r applier.Request) error {
		w.steps = nil
		if err := errors.Join(r.Before(ctx), r.Confirm(ctx)); err != nil {
			return err
		}
		if err := r.WriteInventory(ctx, []metav1alpha1.InventoryEntry{settings}); err != nil {
			return err
		}
		// A second inventory is recorded in the same pass.
		other := settings
		other.Name = "other"
		return r.WriteInventory(ctx, []metav1alpha1.InventoryEntry{other, settings})
	}
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Fatal(err)
	}
	w.expect("verify", "change the finalizers", "protect the kubeconfig", "record", "write the status",
		"protect the kubeconfig", "record", "write the status")
	stored := w.stored()
	if !controllerutil.ContainsFinalizer(stored, finalizer) || len(stored.Status.Inventory) != 2 ||
		stored.Status.Revision != 1 {
		t.Errorf("the stored component does not have the recorded inventory: %+v", stored)
	}
	if w.ready().Message != "applying dependents" {
		t.Errorf("the condition Ready is %+v, want the message applying dependents", w.ready())
	}
}

func TestAnErrorOfTheRecordEndsIt(t *testing.T) {
	steps := []string{"change the finalizers", "protect the kubeconfig", "record", "write the status"}
	for i, step := range steps {
		w := newWorld(t)
		w.fails[step] = errOh
		w.inApply = func(ctx context.Context, r applier.Request) error {
			w.steps = nil
			return r.WriteInventory(ctx, []metav1alpha1.InventoryEntry{settings})
		}
		if _, err := w.Apply(t.Context(), w.component()); !errors.Is(err, errOh) {
			t.Errorf("a failure of the step %s: Apply returned %v", step, err)
		}
		w.expect(steps[:i+1]...)
	}
}

func TestAChangedComponentIsNotConfirmed(t *testing.T) {
	w := newWorld(t)
	w.inApply = func(ctx context.Context, r applier.Request) error {
		p := w.stored()
		p.Generation++
		if err := w.server.Update(ctx, p); err != nil {
			t.Fatal(err)
		}
		return r.Confirm(ctx)
	}
	if _, err := w.Apply(t.Context(), w.component()); !passerror.Interrupted(err) {
		t.Errorf("Apply returned %v, want an interruption", err)
	}
}

func TestAPassWithoutAStoreRecordsNothing(t *testing.T) {
	w := newWorld(t)
	w.Store = nil
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Fatal(err)
	}
	if r := w.request; r.WriteInventory != nil || r.Confirm != nil || r.Before != nil || r.Superseded != nil {
		t.Errorf("got %+v", r)
	}
}

// During a write, the client clears the component before it decodes the response of the API server into it. An event at
// that moment must still start a pass over the component.
func TestAPassWakesItsComponentWhileThatIsWritten(t *testing.T) {
	w := newWorld(t)
	component := w.component()
	request := w.newRequest(component, work{})
	written, ok := component.Object.(*part)
	if !ok {
		t.Fatal("the object of the component is not a *part")
	}
	*written = part{}
	request.Wake()
	if want := []types.NamespacedName{web}; !slices.Equal(w.woken, want) {
		t.Errorf("the pass enqueued %v, want %v", w.woken, want)
	}
}

func TestEventsOfTheRecordAreToldAlsoBesideAnError(t *testing.T) {
	for _, failure := range []error{nil, errOh} {
		w := newWorld(t)
		w.loaded.Events = []status.Event{status.Warning("InventoryIncomplete", "")}
		w.fails["load"] = failure
		if _, err := w.Apply(t.Context(), w.component()); !errors.Is(err, failure) {
			t.Error(err)
		}
		if len(w.events) != 1 || w.events[0].Reason != "InventoryIncomplete" {
			t.Errorf("got %v", w.events)
		}
	}
}

func TestAKeptSetIsDroppedIfRecordsAreFoundLate(t *testing.T) {
	w := newWorld(t)
	w.loaded.RecordsFound = true
	if _, err := w.Apply(t.Context(), w.component()); err != nil {
		t.Fatal(err)
	}
	w.expect("validate", "owner", "target", "check the kubeconfig", "declare", "inputs", "load", "drop the set", "render",
		"begin", "apply")
}

func TestALostPinnedRenderingIsToldAlsoBesideAnError(t *testing.T) {
	for _, failure := range []error{nil, errOh} {
		w := newWorld(t)
		w.set.Lost = "Secret shop/a does not exist"
		w.fails["render"] = failure
		if _, err := w.Apply(t.Context(), w.component()); !errors.Is(err, failure) {
			t.Error(err)
		}
		if len(w.events) != 1 || w.events[0].Reason != "RenderedSetLost" ||
			!strings.HasSuffix(w.events[0].Note, w.set.Lost) {
			t.Errorf("got %v", w.events)
		}
	}
}

func TestInputsThatCannotBeRenderedAreInTheHistory(t *testing.T) {
	terminal := &passerror.Error{Reason: metav1alpha1.ReasonGenerateFailed, Terminal: true}
	for _, c := range []struct {
		name    string
		failure error
		digest  string
		entries int
	}{
		{"a terminal error of new inputs", terminal, "others", 1},
		{"a terminal error of applied inputs", terminal, "inputs", 0},
		{"an error that is retried", errOh, "others", 0},
		{"a wait for a source", passerror.ErrObserving, "others", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, withRecord)
			w.inputs.Digest = c.digest
			w.fails["render"] = c.failure
			component := w.component()
			_, _ = w.Apply(t.Context(), component)
			history := component.GetStatus().History
			if len(history) != c.entries {
				t.Fatalf("the history has the wrong number of entries: %+v", history)
			}
			if c.entries == 1 && (history[0].Revision != 0 || history[0].Outcome != metav1alpha1.RevisionFailed ||
				history[0].Reason != metav1alpha1.ReasonGenerateFailed || history[0].Digest != "others") {
				t.Errorf("the first entry of the history is %+v", history[0])
			}
		})
	}
}

func TestARevisionBeginsOnlyIfItIsRecorded(t *testing.T) {
	w := newWorld(t, withRecord)
	w.inputs.Digest = "others"
	w.set.Note = "ConfigMap a: data.password"
	component := w.component()
	w.fails["begin"] = errOh
	if _, err := w.Apply(t.Context(), component); !errors.Is(err, errOh) {
		t.Fatal(err)
	}
	s := component.GetStatus()
	if s.Revision != 1 || s.InputDigest != "inputs" || len(s.History) != 0 {
		t.Errorf("after an error the status must keep its revision and inputs, got %+v", s)
	}
	if s.ProgressingSince != nil || s.LookupsDigest != "" {
		t.Errorf("after an error the status must not have a timeout or look-ups, got %+v", s)
	}
	delete(w.fails, "begin")
	if _, err := w.Apply(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	if s.Revision != 2 || s.InputDigest != "others" || len(s.History) != 1 {
		t.Errorf("got %+v", s)
	}
	if s.ProgressingSince == nil || s.Identity != "here/u" {
		t.Errorf("got %+v", s)
	}
	var noted bool
	for _, c := range s.Conditions {
		noted = noted || c.Type == metav1alpha1.ConditionNonDeterministic && strings.HasSuffix(c.Message, w.set.Note)
	}
	if !noted {
		t.Errorf("no condition has the message about pinned values: %+v", s.Conditions)
	}
}

func TestTheOutcomeOfTheApplierIsReturnedWithAnError(t *testing.T) {
	w := newWorld(t)
	w.outcome.Changes = []result.Change{{Verb: "Create"}}
	w.fails["apply"] = errOh
	if o, err := w.Apply(t.Context(), w.component()); !errors.Is(err, errOh) || len(o.Changes) != 1 {
		t.Errorf("the failed Apply returned the outcome %+v and the error %v, want one change", o, err)
	}
}
