package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

func TestAPassOverAComponentThatBecomesReady(t *testing.T) {
	w := newWorld(t)
	w.hook(PostRead, PreReconcile, PostReconcile)
	w.outcome = outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Inventory: []metav1alpha1.InventoryEntry{settings}, Ready: 1, Desired: 1,
	}}
	if after := w.reconcile(); after != 0 {
		t.Errorf("the next pass is due after %s, want no further pass", after)
	}
	w.expect("release left", "hook PostRead", "hook PreReconcile", "validate", "owner", "target", "check the kubeconfig",
		"declare", "inputs", "load", "render", "begin", "apply", "change the finalizers", "protect the kubeconfig",
		"hook PostReconcile", "remember owned", "record", "write the status", "delete stale")
	s := w.stored().Status
	if s.State != metav1alpha1.StateReady || w.ready().Status != "True" || s.Revision != 1 || len(s.Inventory) != 1 {
		t.Errorf("the component is not Ready with one dependent: %+v", s)
	}
	if len(w.events) != 1 {
		t.Errorf("the runner emitted the events %v, want one", w.events)
	}

	// A pass that finds nothing to do writes nothing.
	w.reconcile()
	w.expect("release left", "hook PostRead", "hook PreReconcile", "validate", "owner", "target", "check the kubeconfig",
		"declare", "inputs", "load", "render", "begin", "apply", "protect the kubeconfig", "hook PostReconcile",
		"remember owned", "record", "delete stale")
	if len(w.events) != 1 {
		t.Errorf("the runner emitted the events %v, want one", w.events)
	}
}

func TestTheLastHookWaitsForDependents(t *testing.T) {
	w := newWorld(t)
	w.hook(PostReconcile)
	w.outcome.Waiting = []result.Waiting{{}}
	w.reconcile()
	for _, step := range w.steps {
		if step == "hook PostReconcile" {
			t.Error("the hook PostReconcile is called")
		}
	}
}

func TestAnErrorIsReportedAndRetried(t *testing.T) {
	terminal := &passerror.Error{Reason: metav1alpha1.ReasonInvalidSpec, Message: "no", Terminal: true}
	for _, c := range []struct {
		name, step string
		failure    error
		reason     string
		state      metav1alpha1.State
		after      time.Duration
	}{
		{"of a user", "validate", terminal, metav1alpha1.ReasonInvalidSpec, metav1alpha1.StateStalled, time.Minute},
		{
			"of a hook before all else", "hook PostRead", reconcile.TerminalError(errOh),
			metav1alpha1.ReasonHookFailed, metav1alpha1.StateStalled, time.Minute,
		},
		{"of a hook", "hook PreReconcile", errOh, metav1alpha1.ReasonRetrying, metav1alpha1.StateProgressing, 0},
		{"of an API server", "inputs", errOh, metav1alpha1.ReasonRetrying, metav1alpha1.StateProgressing, 0},
		{"of previous Secrets", "release left", errOh, metav1alpha1.ReasonRetrying, metav1alpha1.StateProgressing, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.hook(PostRead, PreReconcile, PostFailure, PostPass)
			w.fails[c.step] = c.failure
			after := w.reconcile()
			s := w.stored().Status
			if s.State != c.state || after == 0 || c.after > 0 && after != c.after {
				t.Errorf("the component has the state %s, and the next pass is due after %s", s.State, after)
			}
			if ready := w.ready(); ready.Reason != c.reason {
				t.Errorf("the condition Ready has the wrong reason: %+v", ready)
			}
		})
	}
}

func TestASuspendedComponentIsLeftAlone(t *testing.T) {
	w := newWorld(t, func(p *part) {
		p.Spec.Suspend = true
		p.Annotations = map[string]string{reconciler + "/" + metav1alpha1.AnnotationSuspendReason: "audit"}
	})
	w.hook(PostRead, PreReconcile)
	if after := w.reconcile(); after != 0 {
		t.Errorf("the next pass is due after %s, want no further pass", after)
	}
	w.expect("release left", "hook PostRead", "remember owned", "write the status", "delete stale")
	if ready := w.ready(); ready.Reason != metav1alpha1.ReasonSuspended || !strings.HasSuffix(ready.Message, "audit") {
		t.Errorf("got %+v", ready)
	}
}

func TestWhatAComponentDeclaresIsReadAfterItsHooks(t *testing.T) {
	w := newWorld(t)
	for _, point := range []Point{PostRead, PreReconcile} {
		w.hooks[point] = []Hook{func(context.Context, components.Object, DependentReader, Result) error {
			w.declared.Target.ServiceAccount += string(point)
			return nil
		}}
	}
	var asked string
	w.Targets = targetsFunc(func(r target.Request) { asked = r.ServiceAccount })
	w.reconcile()
	if asked != "PostReadPreReconcile" {
		t.Errorf("the hooks were called in the order %q", asked)
	}
}

func TestTheFinalizerIsAddedForHooksOfTheDeletion(t *testing.T) {
	for _, point := range []Point{PreDelete, PostDelete} {
		w := newWorld(t)
		w.hook(point, PreReconcile)
		w.fails["hook PreReconcile"] = errOh
		w.reconcile()
		if w.steps[1] != "change the finalizers" || w.steps[2] != "hook PreReconcile" {
			t.Errorf("hook %s: the pass made the calls %q", point, w.steps)
		}
		stored := w.stored()
		if components.Damaged(stored, components.FinalizersOf(reconciler)) || stored.Status.Reconciler != reconciler {
			t.Errorf("with a hook %s, the status of a new component is treated as a lost status", point)
		}
	}
}

func TestADeletionEndsWithTheFinalizer(t *testing.T) {
	w := newWorld(t, withRecord, deleted)
	if after := w.reconcile(); after != 0 {
		t.Errorf("the next pass is due after %s, want no further pass", after)
	}
	w.expect("release left", "owner", "target", "check the kubeconfig", "load", "phases", "delete", "remember owned",
		"owner", "end the records", "change the finalizers")
	if err := w.server.Get(t.Context(), web, &part{}); !apierrors.IsNotFound(err) {
		t.Errorf("the component still exists: %v", err)
	}
	if w.States.Known(web) != nil || len(w.forgotten) != 1 || len(w.stopped) != 1 || w.stopped[0] != owner {
		t.Errorf("the state in memory is not dropped: forgotten %v, stopped %v", w.forgotten, w.stopped)
	}
}

func TestNoPassBeginsWithAFormerVersionOfADeletedComponent(t *testing.T) {
	w := newWorld(t, withRecord, deleted)
	previous := &part{}
	if err := w.server.Get(t.Context(), web, previous); err != nil {
		t.Fatal(err)
	}
	w.States.Of(web).released = previous.GetUID()
	if after := w.reconcile(); after != 0 || len(w.steps) > 0 {
		t.Errorf("a pass over a component without our finalizer made the steps %q; the next one is due after %s",
			w.steps, after)
	}
	w.States.Of(web).released = "another"
	if w.reconcile(); len(w.steps) == 0 {
		t.Error("no pass begins with a new component that has the name of a deleted one")
	}
}

func TestAnErrorAtTheEndOfADeletionIsReported(t *testing.T) {
	for _, step := range []string{"end the records", "change the finalizers"} {
		w := newWorld(t, withRecord, deleted)
		w.fails[step] = errOh
		if after := w.reconcile(); after == 0 || w.States.Known(web) == nil {
			t.Errorf("%s: no further pass is due, or the state was dropped", step)
		}
		if ready := w.ready(); !strings.Contains(ready.Message, "oh") {
			t.Errorf("a failure of the step %s: the condition Ready is %+v", step, ready)
		}
	}
}

func TestADeletionWaitsForTheFinalizersOfOthers(t *testing.T) {
	w := newWorld(t, withRecord, deleted, func(p *part) { p.Finalizers = append(p.Finalizers, "example.com/backup") })
	if after := w.reconcile(); after != 0 {
		t.Errorf("the next pass is due after %s, want no further pass", after)
	}
	w.expect("release left", "remember owned", "write the status", "delete stale")
	if ready := w.ready(); ready.Reason != metav1alpha1.ReasonForeignFinalizers ||
		!strings.Contains(ready.Message, "example.com/backup") {
		t.Errorf("got %+v", ready)
	}
}

func TestADeletionWithoutOurFinalizerDeletesNothing(t *testing.T) {
	w := newWorld(t, deleted, func(p *part) { p.Finalizers = []string{"example.com/backup"} })
	w.reconcile()
	w.expect("release left", "remember owned", "owner", "end the records")
	// Dependents that were created after the last write of the status are still deleted.
	w.States.Of(web).addCreated(w.target.Client, outcome.Outcome{
		Created: plan.NewInventory([]metav1alpha1.InventoryEntry{settings}),
	})
	w.reconcile()
	if w.steps[1] == "delete" || w.ready().Reason != metav1alpha1.ReasonForeignFinalizers {
		t.Errorf("got %q, %+v", w.steps, w.ready())
	}
}

func TestAConflictInterruptsThePassWithoutAReport(t *testing.T) {
	w := newWorld(t)
	w.outcome.Changes = []result.Change{{Verb: "Create", Key: rendered.Key}}
	w.outcome.Inventory = []metav1alpha1.InventoryEntry{settings}
	w.fails["apply"] = w.Store.Conflict(web, "its spec changed")
	if after := w.reconcile(); after == 0 {
		t.Error("no further pass is due")
	}
	for _, step := range w.steps {
		if step == "write the status" {
			t.Error("the pass wrote the status")
		}
	}
	if len(w.events) != 1 || len(w.woken) != 0 {
		t.Errorf("want one event with the changes and no enqueued component, got the events %v and %v", w.events, w.woken)
	}
}

func TestAnInterruptedReportIsNone(t *testing.T) {
	for _, c := range []struct {
		name   string
		breaks func(*world)
	}{
		{"the record", func(w *world) { w.fails["record"] = context.Canceled }},
		{"the status", func(w *world) { w.fails["write the status"] = context.Canceled }},
		{"a deleted component", func(w *world) {
			w.beforeStatus = func() error {
				if err := w.server.Delete(t.Context(), w.stored()); err != nil {
					t.Error(err)
				}
				return nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.outcome.Inventory = []metav1alpha1.InventoryEntry{settings}
			w.outcome.Changes = []result.Change{{Verb: "Create", Key: rendered.Key}}
			c.breaks(w)
			if after := w.reconcile(); after == 0 || len(w.events) != 1 {
				t.Errorf("the next pass is due after %s, and the events are %v; want a delay and one event", after, w.events)
			}
		})
	}
}

func TestTheNextStatusNamesTheAdoptionsOfPassesWithoutAReport(t *testing.T) {
	for name, failure := range map[string]error{"interrupted": context.Canceled, "failed": errOh} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.outcome = outcome.Outcome{Outcome: result.Outcome{Applied: true, Ready: 1, Desired: 1, Changes: []result.Change{
				{Verb: "Adopt", Key: rendered.Key, From: "the Helm release shop/web"}, {Verb: "Create", Key: rendered.Key},
			}}}
			w.fails["write the status"] = failure
			_, _ = w.Reconcile(t.Context(), web)
			if history := w.stored().Status.History; len(history) > 0 {
				t.Fatalf("the status is written: %+v", history)
			}
			w.outcome.Changes = nil
			delete(w.fails, "write the status")
			for range 2 {
				w.reconcile()
				history := w.stored().Status.History
				if len(history) != 1 || history[0].AdoptedCount != 1 || len(history[0].Adopted) != 1 {
					t.Errorf("the history is %+v", history)
				}
			}
		})
	}
}

func TestAStatusThatCannotBeWrittenIsAnError(t *testing.T) {
	w := newWorld(t)
	w.outcome.Changes = []result.Change{{Verb: "Create", Key: rendered.Key}}
	w.outcome.Created = plan.NewInventory([]metav1alpha1.InventoryEntry{settings})
	w.fails["write the status"] = errOh
	if _, err := w.Reconcile(t.Context(), web); !errors.Is(err, errOh) {
		t.Errorf("Reconcile returned %v, want the error of the failed step", err)
	}
	if len(w.events) != 1 || len(w.States.Of(web).unconfirmed.entries) != 1 {
		t.Errorf("got the events %v and the unconfirmed dependents %v, want one of each", w.events,
			w.States.Of(web).unconfirmed)
	}
	delete(w.fails, "write the status")
	w.outcome.Created, w.outcome.Changes = nil, nil
	w.reconcile()
	if len(w.States.Of(web).unconfirmed.entries) != 0 {
		t.Error("created dependents are still unconfirmed after a write of the status")
	}
}

func TestAnInventoryThatCannotBeRecordedIsReported(t *testing.T) {
	w := newWorld(t)
	w.outcome = outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Ready: 1, Desired: 1, Inventory: []metav1alpha1.InventoryEntry{settings},
	}}
	w.fails["record"] = errOh
	if after := w.reconcile(); after == 0 || !strings.Contains(w.ready().Message, "oh") {
		t.Errorf("the next pass is due after %s, and the condition Ready is %+v", after, w.ready())
	}
	w.fails["validate"] = errors.New("first")
	w.outcome.Inventory = nil
	w.reconcile()
	if !strings.Contains(w.ready().Message, "first") {
		t.Errorf("got %+v", w.ready())
	}
}

func TestSecretsThatCouldNotBeDeletedAreDeletedLater(t *testing.T) {
	w := newWorld(t)
	w.fails["delete stale"] = errOh
	if after := w.reconcile(); after != time.Minute {
		t.Errorf("the next pass is due after %s, want a minute", after)
	}
}

func TestNoSecretIsDeletedBesideARecordOfANewerVersion(t *testing.T) {
	w := newWorld(t)
	w.fails["load"] = &passerror.Error{Reason: metav1alpha1.ReasonNewerRecord, Terminal: true, Message: "newer"}
	w.reconcile()
	if w.ready().Reason != metav1alpha1.ReasonNewerRecord || slices.Contains(w.steps, "delete stale") {
		t.Errorf("the condition Ready is %+v after the calls %q", w.ready(), w.steps)
	}
}

func TestAPassThatWaitsForAWatchWritesNothingUntilItsTimeout(t *testing.T) {
	for name, waits := range map[string]func(*world){
		"before the revision begins": func(w *world) { w.fails["target"] = passerror.ErrObserving },
		"after the revision begins": func(w *world) {
			w.outcome = outcome.Outcome{Outcome: result.Outcome{
				Observing: true,
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			waits(w)
			if after := w.reconcile(); after != 10*time.Minute {
				t.Errorf("the timeout ends in %s, want 10 minutes", after)
			}
			w.clock.SetTime(start.Add(4 * time.Minute))
			if after := w.reconcile(); after != 6*time.Minute {
				t.Errorf("the timeout ends in %s, want 6 minutes", after)
			}
			if w.stored().Status.State != "" {
				t.Error("the pass wrote the status")
			}
			w.clock.SetTime(start.Add(10 * time.Minute))
			w.reconcile()
			if s := w.stored().Status; s.State == "" || s.ProgressingSince == nil || !s.ProgressingSince.Time.Equal(start) {
				t.Errorf("after the timeout the status is %+v", s)
			}
		})
	}
}

func TestPassesAreRateLimited(t *testing.T) {
	w := newWorld(t)
	w.MinInterval = time.Minute
	w.reconcile()
	w.steps = nil
	w.clock.SetTime(start.Add(20 * time.Second))
	if after := w.reconcile(); after != 40*time.Second {
		t.Errorf("the next pass is due after %s, want 40 seconds", after)
	}
	w.expect()
	w.clock.SetTime(start.Add(time.Minute))
	if w.reconcile(); len(w.steps) == 0 {
		t.Error("no pass was made")
	}
}

func TestARequestedPassIsAcknowledged(t *testing.T) {
	for acknowledge, want := range map[string]string{"now": "now", "before": "", "": ""} {
		w := newWorld(t, func(p *part) {
			p.Annotations = map[string]string{
				reconciler + "/" + metav1alpha1.AnnotationReconcileRequested:   "now",
				reconciler + "/" + metav1alpha1.AnnotationReconcileAcknowledge: acknowledge,
			}
		})
		w.reconcile()
		if got := w.stored().Status.LastHandledReconcileAt; got != want {
			t.Errorf("acknowledgement %q: lastHandledReconcileAt is %q", acknowledge, got)
		}
	}
}

// deleteComponent deletes the component. The dependents late are added to the unconfirmed dependents before that.
func deleteComponent(w *world, late ...metav1alpha1.InventoryEntry) {
	w.t.Helper()
	w.States.Of(web).addCreated(w.target.Client, outcome.Outcome{Created: plan.NewInventory(late)})
	if err := w.server.Delete(w.t.Context(), w.stored()); err != nil {
		w.t.Fatal(err)
	}
}

// connect adds a connection to the target. The connection has a watch for the component.
func (w *world) connect() *target.Connection {
	w.t.Helper()
	connection, err := target.Connect(w.t.Context(), unreachable(), target.Options{Reconciler: reconciler})
	if err != nil {
		w.t.Fatal(err)
	}
	w.target.Client = connection.Own()
	settings := observe.Reference{Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Name: "settings"}
	connection.Lookups.WatchVersions(owner.ID(), observe.ReadVersions{
		OwnerID: owner.ID(), Versions: map[observe.Reference]observe.Version{settings: ""},
	}, func() {})
	return connection
}

func TestAVanishedComponentIsForgotten(t *testing.T) {
	w := newWorld(t)
	deleteComponent(w)
	if after := w.reconcile(); after != 0 || w.States.Known(web) != nil || len(w.forgotten) != 1 || len(w.stopped) != 1 {
		t.Errorf("the next pass is due after %s, or the state of the component remains; forgotten: %v", after, w.forgotten)
	}
	w.expect("release vanished")
}

func TestDependentsThatWereCreatedTooLateAreDeleted(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome outcome.Outcome
		failure error
		retried bool
		kept    bool
	}{
		{name: "they no longer exist"},
		{name: "a watch has not delivered", outcome: outcome.Outcome{Outcome: result.Outcome{Observing: true}}, kept: true},
		{name: "they still exist", outcome: outcome.Outcome{Outcome: result.Outcome{
			Waiting: []result.Waiting{{}},
		}}, retried: true, kept: true},
		{name: "the API server fails", failure: errOh, retried: true, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			connection := w.connect()
			deleteComponent(w, settings)
			w.outcome = c.outcome
			w.fails["delete"] = c.failure
			after := w.reconcile()
			if (after > 0) != c.retried || (w.States.Known(web) != nil) != c.kept || w.deletedBy != w.target.Client {
				t.Errorf("the next pass is due after %s, or the runner kept or dropped the state wrongly", after)
			}
			if r := w.request; len(r.Inventory) != 1 || r.Owner != owner || !r.Now.Equal(start) {
				t.Errorf("got %+v", r)
			}
			want := []string{"delete", "release vanished"}
			if c.kept {
				want = want[:1]
			}
			w.expect(want...)
			if _, watched := connection.Lookups.Changed(owner.ID()); (watched != nil) != c.kept {
				t.Errorf("the watches of the component are kept: %t, want the opposite", watched != nil)
			}
			w.request.Wake()
			if len(w.woken) != 1 || w.woken[0] != web {
				t.Errorf("the runner enqueued %v, want web", w.woken)
			}
		})
	}
}

func TestSecretsOfAVanishedComponentAreReleasedAgain(t *testing.T) {
	w := newWorld(t)
	deleteComponent(w)
	w.fails["release vanished"] = errOh
	if after := w.reconcile(); after == 0 || w.States.Known(web) == nil {
		t.Errorf("the next pass is due after %s, or the state was dropped", after)
	}
}

func TestAComponentThatCannotBeLoadedIsAnError(t *testing.T) {
	w := newWorld(t)
	options := components.Options{
		Name: reconciler, GVK: partGVK, New: func() (components.Object, error) { return nil, errOh },
		Client: w.client(), Reader: w.client(), States: w.States.Objects(),
	}
	w.Store = components.NewStore(options, components.NewOwners(options), w.InFlight)
	if _, err := w.Reconcile(t.Context(), web); !errors.Is(err, errOh) {
		t.Errorf("Reconcile returned %v, want the error of the failed step", err)
	}
}

func TestASupersededPassIsRepeatedAtOnce(t *testing.T) {
	w := newWorld(t)
	informers := &informertest.FakeInformers{Scheme: w.server.Scheme()}
	if err := w.InFlight.Watch(t.Context(), informers, &part{}, w.newDependencies()); err != nil {
		t.Fatal(err)
	}
	watch, err := informers.FakeInformerFor(t.Context(), &part{})
	if err != nil {
		t.Fatal(err)
	}
	w.inApply = func(ctx context.Context, r applier.Request) error {
		newer := w.stored()
		newer.Generation++
		if err := w.server.Update(ctx, newer); err != nil {
			t.Error(err)
		}
		watch.Update(newer, newer)
		select {
		case <-r.Superseded:
			return passerror.ErrSuperseded
		default:
			return errors.New("the pass goes on")
		}
	}
	if after := w.reconcile(); after != 0 || len(w.woken) != 1 || w.woken[0] != web {
		t.Errorf("the next pass is due after %s, and %v were enqueued; want web", after, w.woken)
	}
}

func TestOtherFinalizersAreNamed(t *testing.T) {
	w := newWorld(t, func(p *part) { p.Finalizers = []string{finalizer} })
	if err := otherFinalizers(w.component(), components.FinalizersOf(reconciler)); err != nil {
		t.Errorf("otherFinalizers reports the reconciler's own finalizer: %v", err)
	}
}

// Other components render, so the pass ends without a write, and its worker is free for them.
func TestAPassThatWaitsForItsTurnToRenderChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.fails["render"] = fmt.Errorf("wrapped: %w", turn.ErrLater)
	// The rate limit does not delay the next pass, because the turn is kept for a short time only.
	w.MinInterval = time.Minute
	if after := w.reconcile(); after != maxWait {
		t.Errorf("the next pass is due after %s", after)
	}
	if s := w.stored().Status; len(w.events) != 0 || s.State != "" || len(s.History) != 0 {
		t.Errorf("events %v, status %+v", w.events, s)
	}
	delete(w.fails, "render")
	w.reconcile()
	if state := w.stored().Status.State; state == "" {
		t.Error("the pass after the wait writes no status")
	}
}

// Another component has the memory, so the pass ends without a write, and is made again when the memory is free.
func TestAPassWithoutMemoryWaitsAndChangesNothing(t *testing.T) {
	const mebibyte = 1 << 20
	w := newWorld(t)
	w.Budget = budget.New(mebibyte, 1)
	w.loaded.Entries = make([]metav1alpha1.InventoryEntry, 300)
	busy, other := w.Budget.Begin(t.Context(), types.NamespacedName{Namespace: "other", Name: "large"}, func() {})
	if err := budget.Reserve(busy, mebibyte*9/10); err != nil {
		t.Fatal(err)
	}
	if after := w.reconcile(); after != maxWait {
		t.Errorf("the next pass is due after %s", after)
	}
	w.expect("release left", "validate", "owner", "target", "check the kubeconfig", "declare", "inputs", "load",
		"remember owned")
	if len(w.events) != 0 || len(w.sources) != 1 || len(w.woken) != 0 {
		t.Errorf("events %v, dropped sources %v, woken %v", w.events, w.sources, w.woken)
	}
	other.End()
	if !slices.Equal(w.woken, []types.NamespacedName{web}) {
		t.Errorf("woken: %v", w.woken)
	}
	w.reconcile()
	if state := w.stored().Status.State; state == "" {
		t.Error("the pass after the wait writes no status")
	}
	if usage := w.Budget.Usage(); usage.Reserved != 0 || usage.Waiting != 0 {
		t.Errorf("got %+v", usage)
	}
}

// A deletion that needs more memory than the whole budget is made alone.
func TestADeletionIsNotRefusedForItsMemory(t *testing.T) {
	w := newWorld(t, func(p *part) {
		now := metav1.NewTime(start)
		p.DeletionTimestamp, p.Finalizers = &now, []string{components.Finalizer(reconciler)}
	})
	w.Budget = budget.New(1<<20, 1)
	w.loaded.Entries = make([]metav1alpha1.InventoryEntry, 3000)
	w.reconcile()
	if !slices.Contains(w.steps, "delete") {
		t.Errorf("the dependents are not deleted: %v", w.steps)
	}
}
