package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The dependent settings as the first pass of these tests leaves it in memory, and the one that it creates.
var (
	updated = entryOf("settings", 2, 0)
	created = entryOf("created", 2, 0)
)

func entryOf(name string, revision, rendition int64) metav1alpha1.InventoryEntry {
	e := settings
	e.Name, e.Digest, e.Revision, e.Rendition = name, fmt.Sprintf("d%d", revision), revision, rendition
	return e
}

// setWith returns a rendering that asked for the export v, got a value, and has other contents for each value.
func setWith(value string) rendering.Set {
	o := rendered
	o.Digest = "rendered with " + value
	set := setOf("capabilities", o)
	set.Lookups.Exports = []metav1alpha1.AskedExport{{Name: "v", Value: value}}
	return set
}

// valueIs returns what a rendering knows about the export v.
func valueIs(value string) []metav1alpha1.AskedExport {
	return []metav1alpha1.AskedExport{{Name: "v", Value: value}}
}

// newEnding returns a world whose next pass begins revision 2, updates the dependent settings, and ends because a value
// of an export appears.
func newEnding(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, withRecord)
	w.loaded.Entries, w.inputs.Digest = []metav1alpha1.InventoryEntry{settings}, "changed"
	w.hook(PostRead, PreReconcile, PostReconcile, PostPass)
	w.ends("1")
	w.outcome.Inventory = []metav1alpha1.InventoryEntry{updated}
	w.outcome.Recorded = plan.NewInventory([]metav1alpha1.InventoryEntry{settings})
	w.outcome.Unrecorded = true
	w.outcome.Changes = []result.Change{{Verb: "Apply", Key: rendered.Key, Reason: "Changed"}}
	return w
}

// ends lets passes end whose rendering gets no value while the export has one.
func (w *world) ends(current string) {
	w.set = setWith("")
	w.outcome = outcome.Outcome{Outcome: result.Outcome{Inventory: w.loaded.Entries}, Asked: valueIs(current)}
}

// endsForAnother lets the next pass end because the rendering asked for another export, which has a value.
func (w *world) endsForAnother(i int) {
	w.ends("1")
	name := fmt.Sprint("v", i)
	w.set.Lookups.Exports[0].Name, w.outcome.Asked[0].Name = name, name
}

// succeeds lets passes apply the rendering with the value 1, with a change of their own.
func (w *world) succeeds() {
	w.set = setWith("1")
	w.outcome = outcome.Outcome{Outcome: result.Outcome{
		Applied: true, Inventory: []metav1alpha1.InventoryEntry{entryOf("settings", 2, 1)}, Ready: 1, Desired: 1,
		Changes: []result.Change{{Verb: "Create", Key: manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "created"}}},
	}}
}

// names returns the names of the dependents in an inventory, with their revisions and renditions.
func names(inventory []metav1alpha1.InventoryEntry) string {
	var texts []string
	for _, e := range inventory {
		texts = append(texts, fmt.Sprintf("%s %d.%d", e.Name, e.Revision, e.Rendition))
	}
	return strings.Join(texts, ", ")
}

// notes returns the notes of the events about changes.
func (w *world) notes() string {
	var texts []string
	for _, e := range w.events {
		texts = append(texts, e.Note)
	}
	return strings.Join(texts, "; ")
}

// recordedNames returns the names of the dependents in the stored status.
func (w *world) recordedNames() string {
	var entries []metav1alpha1.InventoryEntry
	for _, line := range w.stored().Status.Inventory {
		e, err := metav1alpha1.ParseInventoryEntry(line)
		if err != nil {
			w.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return names(entries)
}

// change stores the component with a change by another client.
func (w *world) change(change func(*part)) {
	w.t.Helper()
	p := w.stored()
	change(p)
	status := *p.Status.DeepCopy()
	if err := w.server.Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	p.Status = status
	if err := w.server.Status().Update(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// expectTold checks that exactly one event tells the changes of both passes.
func (w *world) expectTold(changes ...string) {
	w.t.Helper()
	var told []string
	for _, change := range []string{"apply", "adopt", "create"} {
		if n := strings.Count(w.notes(), change+" "); n > 0 {
			told = append(told, fmt.Sprintf("%s %d", change, n))
		}
	}
	if len(w.events) != 1 || !slices.Equal(told, changes) {
		w.t.Errorf("the events are %v, want one with %v", w.events, changes)
	}
}

// kept returns what the process keeps of the passes over the component.
func (w *world) kept() *unreported { return &w.States.Of(web).unreported }

func TestAPassThatEndsForAnExportIsContinued(t *testing.T) {
	for _, c := range []struct {
		name string
		// first changes the first pass, between happens after it, and then the second pass is made. check checks the rest.
		first   func(*world)
		between func(*world)
		check   func(*world)
	}{
		{
			name: "the value appears after a create: one status, one event, one revision",
			first: func(w *world) {
				w.outcome.Inventory = []metav1alpha1.InventoryEntry{created, updated}
				w.inApply = func(ctx context.Context, r applier.Request) error {
					return r.WriteInventory(ctx, w.outcome.Inventory)
				}
			},
			between: func(w *world) {
				w.inApply = func(context.Context, applier.Request) error { return nil }
				w.succeeds()
			},
			check: func(w *world) {
				w.expectTold("apply 1", "create 1")
				if s := w.stored().Status; len(s.History) != 1 || s.Revision != 2 || s.State != metav1alpha1.StateReady {
					w.t.Errorf("the status is %+v", s)
				}
				if n := count(w.steps, "write the status"); n != 1 {
					w.t.Errorf("the second pass wrote the status %d times", n)
				}
			},
		},
		{
			name:    "the revision stays the same, so that its Jobs do not run again",
			between: (*world).succeeds,
			check: func(w *world) {
				if r := w.request; r.Revision != 2 || r.Rendition != 1 || names(r.Inventory) != "settings 2.0" {
					w.t.Errorf("the request has revision %d, rendition %d and %s", r.Revision, r.Rendition, names(r.Inventory))
				}
				if !w.request.Unrecorded || len(w.request.Recorded) != 1 || w.request.Recorded[rendered.Key].Revision != 1 {
					w.t.Errorf("the request does not know that its inventory is not recorded: %+v", w.request.Recorded)
				}
			},
		},
		{
			name: "the process ends: what was created is recorded, and the values are asked for again",
			first: func(w *world) {
				w.outcome.Inventory = []metav1alpha1.InventoryEntry{created, updated}
				w.inApply = func(ctx context.Context, r applier.Request) error {
					return r.WriteInventory(ctx, w.outcome.Inventory)
				}
			},
			between: func(w *world) {
				w.States.Forget(web)
				w.loaded.Entries = w.outcome.Inventory
				w.inApply = func(context.Context, applier.Request) error { return nil }
				w.ends("1")
				w.reconcile()
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("")) {
					w.t.Errorf("a new process renders with the values %v, want those of the status", got)
				}
				w.succeeds()
			},
			check: func(w *world) {
				if r := w.request; r.Revision != 2 || names(r.Inventory) != "created 2.0, settings 2.0" {
					w.t.Errorf("the request has revision %d and %s", r.Revision, names(r.Inventory))
				}
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("1")) {
					w.t.Errorf("the last rendering has the values %v", got)
				}
			},
		},
		{
			name:  "another operator writes the status: only the changes and the created dependents are kept",
			first: func(w *world) { w.outcome.Created = plan.NewInventory([]metav1alpha1.InventoryEntry{created}) },
			between: func(w *world) {
				w.change(func(p *part) { p.Status.Revision = 7 })
				w.succeeds()
			},
			check: func(w *world) {
				if r := w.request; r.Revision != 8 || r.Unrecorded || names(r.Inventory) != "created 2.0, settings 1.0" {
					w.t.Errorf("the request has revision %d and %s", r.Revision, names(r.Inventory))
				}
				w.expectTold("apply 1", "create 1")
			},
		},
		{
			name: "an author writes a condition: all is kept, and the condition, too",
			between: func(w *world) {
				w.change(func(p *part) {
					p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: "Theirs", Status: "True"})
				})
				w.succeeds()
			},
			check: func(w *world) {
				if w.request.Revision != 2 || names(w.request.Inventory) != "settings 2.0" {
					w.t.Errorf("the request has revision %d and %s", w.request.Revision, names(w.request.Inventory))
				}
				if !slices.ContainsFunc(w.stored().Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Theirs" }) {
					w.t.Error("the condition of the author is lost")
				}
			},
		},
		{
			name: "the spec changes: the next revision begins with what is kept",
			between: func(w *world) {
				w.change(func(p *part) { p.Generation = 2 })
				w.inputs.Digest = "changed again"
				w.succeeds()
			},
			check: func(w *world) {
				if r := w.request; r.Revision != 3 || r.Rendition != 0 || names(r.Inventory) != "settings 2.0" {
					w.t.Errorf("the request has revision %d, rendition %d and %s", r.Revision, r.Rendition, names(r.Inventory))
				}
				if !slices.Equal(w.rendering.Exports, valueIs("1")) || len(w.stored().Status.History) != 2 {
					w.t.Errorf("the values are %v, and the history %v", w.rendering.Exports, w.stored().Status.History)
				}
			},
		},
		{
			name:    "the component is suspended: the report has the changes and the inventory",
			between: func(w *world) { w.change(func(p *part) { p.Spec.Suspend = true }) },
			check: func(w *world) {
				w.expectTold("apply 1")
				if s := w.stored().Status; s.State != metav1alpha1.StateSuspended || w.recordedNames() != "settings 2.0" ||
					s.Revision != 2 {
					w.t.Errorf("the status has %s: %+v", w.recordedNames(), s)
				}
				if w.kept().ends != 0 || w.kept().changes != nil {
					w.t.Errorf("after the report is kept: %+v", w.kept())
				}
			},
		},
		{
			name:    "the rendering gets the values that the exports had",
			between: (*world).succeeds,
			check: func(w *world) {
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("1")) || w.rendering.ExportsLost {
					w.t.Errorf("the rendering gets the values %v", got)
				}
				if w.kept().asked != nil {
					w.t.Error("values that the status records are kept")
				}
			},
		},
		{
			name: "the component is deleted: the deletion knows the inventory, and reports it",
			between: func(w *world) {
				if err := w.server.Delete(w.t.Context(), w.stored()); err != nil {
					w.t.Fatal(err)
				}
				w.outcome = outcome.Outcome{Outcome: result.Outcome{
					Inventory: []metav1alpha1.InventoryEntry{updated},
					Waiting:   []result.Waiting{{DependentReport: metav1alpha1.DependentReport{Dependent: "x"}}},
				}}
			},
			check: func(w *world) {
				w.expectTold("apply 1")
				if names(w.request.Inventory) != "settings 2.0" || w.recordedNames() != "settings 2.0" {
					w.t.Errorf("the deletion has %s, and recorded %s", names(w.request.Inventory), w.recordedNames())
				}
			},
		},
		{
			name:  "the component was deleted: created objects are deleted",
			first: func(w *world) { w.outcome.Created = plan.NewInventory([]metav1alpha1.InventoryEntry{created}) },
			between: func(w *world) {
				deleted := w.stored()
				deleted.Finalizers = nil
				if err := w.server.Update(w.t.Context(), deleted); err != nil {
					w.t.Fatal(err)
				}
				if err := w.server.Delete(w.t.Context(), deleted); err != nil {
					w.t.Fatal(err)
				}
				w.States.Of(web).unconfirmed.client = &target.Client{Connection: w.connect()}
				w.outcome = outcome.Outcome{}
			},
			check: func(w *world) {
				if names(w.request.Inventory) != "created 2.0" || w.States.Known(web) != nil {
					w.t.Errorf("deleted %s, kept %+v", names(w.request.Inventory), w.States.Known(web))
				}
			},
		},
		{
			name: "the next rendering is held: repairs are made of what is kept",
			between: func(w *world) {
				trigger, err := repairNonce(w.stored(), reconciler, "1")
				if err != nil {
					w.t.Fatal(err)
				}
				w.States.Of(web).bursts = bursts{trigger: trigger, since: start, window: time.Minute, count: maxBurst}
				w.inputs.Digest, w.last = "changed again", new(setWith(""))
				w.outcome = outcome.Outcome{Outcome: result.Outcome{
					Inventory: []metav1alpha1.InventoryEntry{updated}, Ready: 1, Desired: 1,
				}}
			},
			check: func(w *world) {
				if r := w.request; !r.Hold || r.Revision != 2 || names(r.Inventory) != "settings 2.0" {
					w.t.Errorf("the request has revision %d and %s", r.Revision, names(r.Inventory))
				}
				w.expectTold("apply 1")
				if w.ready().Reason != metav1alpha1.ReasonInputFeedback || w.recordedNames() != "settings 2.0" {
					w.t.Errorf("recorded %s, ready is %+v", w.recordedNames(), w.ready())
				}
				if !slices.Equal(w.kept().asked, valueIs("1")) {
					w.t.Error("a pass without a rendering drops the values")
				}
			},
		},
		{
			name:    "the next pass waits for a watch: the changes are told at once, and nothing starts a pass but the watch",
			between: func(w *world) { w.fails["target"] = passerror.ErrObserving },
			check: func(w *world) {
				w.expectTold("apply 1")
				if w.kept().ends != 1 || w.kept().ended == nil || len(w.woken) != 1 {
					w.t.Errorf("kept %+v, woken %v", w.kept(), w.woken)
				}
				w.reconcile()
				w.expectTold("apply 1")
				delete(w.fails, "target")
				w.succeeds()
				w.reconcile()
				if strings.Count(w.notes(), "apply ") != 1 || strings.Count(w.notes(), "create ") != 1 || w.request.Revision != 2 {
					w.t.Errorf("the events are %v, the request has revision %d", w.events, w.request.Revision)
				}
			},
		},
		{
			name:    "the next pass waits for its turn to render: the changes are told, and the rest is kept",
			between: func(w *world) { w.fails["render"] = turn.ErrLater },
			check: func(w *world) {
				w.expectTold("apply 1")
				delete(w.fails, "render")
				w.succeeds()
				w.reconcile()
				if strings.Count(w.notes(), "apply") != 1 || w.request.Revision != 2 ||
					names(w.request.Inventory) != "settings 2.0" {
					w.t.Errorf("the events are %v, the request has %s", w.events, names(w.request.Inventory))
				}
			},
		},
		{
			name: "the next rendering is invalid: the report has the changes and the inventory",
			between: func(w *world) {
				w.fails["render"] = &passerror.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: "no", Terminal: true}
			},
			check: func(w *world) {
				w.expectTold("apply 1")
				if w.ready().Reason != metav1alpha1.ReasonInvalidManifests || w.recordedNames() != "settings 2.0" {
					w.t.Errorf("recorded %s, ready is %+v", w.recordedNames(), w.ready())
				}
				if s := w.stored().Status; s.Revision != 2 || w.kept().ends != 0 || w.kept().ended != nil {
					w.t.Errorf("revision %d, kept %+v", s.Revision, w.kept())
				}
			},
		},
		{
			name: "the rendering with the value is invalid: the next one finds a newer value",
			between: func(w *world) {
				w.fails["render"] = &passerror.Error{Reason: metav1alpha1.ReasonInvalidManifests, Message: "no", Terminal: true}
				w.reconcile()
				delete(w.fails, "render")
				w.ends("2")
			},
			check: func(w *world) {
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("")) {
					w.t.Errorf("the rendering gets the values %v, want those of the status", got)
				}
				w.succeeds()
				w.reconcile()
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("2")) {
					w.t.Errorf("the rendering gets the values %v, want the newer ones", got)
				}
			},
		},
		{
			name: "the rendering with the value fails, and is tried again with it",
			between: func(w *world) {
				w.fails["render"] = &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: "not now"}
				w.reconcile()
				delete(w.fails, "render")
				w.succeeds()
			},
			check: func(w *world) {
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("1")) || w.ready().Status != "True" {
					w.t.Errorf("the rendering gets the values %v, ready is %+v", got, w.ready())
				}
			},
		},
		{
			name: "the rendering with the value fails twice: the next one finds a newer value",
			between: func(w *world) {
				w.fails["render"] = &passerror.Error{Reason: metav1alpha1.ReasonRetrying, Message: "not now"}
				w.reconcile()
				w.reconcile()
				delete(w.fails, "render")
				w.ends("2")
			},
			check: func(w *world) {
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("")) {
					w.t.Errorf("the rendering gets the values %v, want those of the status", got)
				}
				w.succeeds()
				w.reconcile()
				if got := w.rendering.Exports; !slices.Equal(got, valueIs("2")) {
					w.t.Errorf("the rendering gets the values %v, want the newer ones", got)
				}
			},
		},
		{
			name: "the record is lost: what is kept is recorded before the next write",
			first: func(w *world) {
				w.outcome.Recorded, w.outcome.Unrecorded = plan.NewInventory(w.outcome.Inventory), false
			},
			between: func(w *world) {
				w.recovered = []metav1alpha1.InventoryEntry{created}
				w.succeeds()
			},
			check: func(w *world) {
				r := w.request
				if names(r.Inventory) != "settings 2.0" || !r.Unrecorded || len(r.Recorded) != 1 ||
					r.Recorded[rendered.Key].Name != "" {
					w.t.Errorf("the request has %s, unrecorded %t, persisted %v", names(r.Inventory), r.Unrecorded, r.Recorded)
				}
			},
		},
		{
			name: "the next pass records a create, and fails: the report has the inventory of that record",
			between: func(w *world) {
				w.succeeds()
				w.outcome = outcome.Outcome{}
				w.inApply = func(ctx context.Context, r applier.Request) error {
					if err := r.WriteInventory(ctx, []metav1alpha1.InventoryEntry{updated, created}); err != nil {
						return err
					}
					return errOh
				}
			},
			check: func(w *world) {
				if got := w.recordedNames(); got != "created 2.0, settings 2.0" && got != "settings 2.0, created 2.0" {
					w.t.Errorf("recorded %s", got)
				}
			},
		},
		{
			name: "the next pass is interrupted: the changes of both are told once, and their adoptions are kept",
			first: func(w *world) {
				w.outcome.Changes = []result.Change{{Verb: "Adopt", Key: rendered.Key, From: "kubectl"}}
			},
			between: func(w *world) {
				w.succeeds()
				w.inApply = func(context.Context, applier.Request) error { return context.Canceled }
			},
			check: func(w *world) {
				w.expectTold("adopt 1", "create 1")
				w.inApply = func(context.Context, applier.Request) error { return nil }
				w.outcome.Changes = nil
				w.reconcile()
				if w.request.Revision != 2 || names(w.request.Inventory) != "settings 2.0" {
					w.t.Errorf("the request has revision %d and %s", w.request.Revision, names(w.request.Inventory))
				}
				if h := w.stored().Status.History; strings.Count(w.notes(), "adopt ") != 1 || len(h) != 1 ||
					h[0].AdoptedCount != 1 {
					w.t.Errorf("the events are %v, the history is %+v", w.events, h)
				}
			},
		},
		{
			name: "the status cannot be written: the inventory and the revision are kept until it can",
			between: func(w *world) {
				w.succeeds()
				w.fails["write the status"] = errOh
				if _, err := w.Reconcile(w.t.Context(), web); err == nil {
					w.t.Error("the write succeeded")
				}
				delete(w.fails, "write the status")
				w.outcome.Changes = nil
			},
			check: func(w *world) {
				if w.request.Revision != 2 || names(w.request.Inventory) != "settings 2.0" || w.kept().ends != 0 {
					w.t.Errorf("the request has %s, kept is %+v", names(w.request.Inventory), w.kept())
				}
				if strings.Count(w.notes(), "apply") != 1 {
					w.t.Errorf("the events are %v", w.events)
				}
			},
		},
		{
			name: "the value vanishes: the last value is used, and the set is open",
			between: func(w *world) {
				w.succeeds()
				w.outcome.Applied, w.outcome.Waiting = false, []result.Waiting{{Open: true}}
			},
			check: func(w *world) {
				if asked := w.request.Asked; len(asked) != 1 || asked[0].Value != "1" {
					w.t.Errorf("the plan gets the exports %v", asked)
				}
				if got := w.stored().Status.AskedExports; !slices.Equal(got, []string{"v=1"}) || w.ready().Status == "True" {
					w.t.Errorf("the status has %v, ready is %+v", got, w.ready())
				}
			},
		},
		{
			name: "the timeout is over: the next pass reports it",
			first: func(w *world) {
				w.change(func(p *part) {
					p.Status.InputDigest, p.Status.ProgressingSince = "changed", new(metav1.NewTime(start.Add(-time.Hour)))
					p.Status.AskedExports = []string{"v"}
					var err error
					if p.Status.Lookups, p.Status.LookupsDigest, err = w.set.Lookups.Lines(); err != nil {
						w.t.Fatal(err)
					}
				})
			},
			between: func(w *world) {
				if w.kept().ends != 1 || len(w.events) != 0 {
					w.t.Errorf("the first pass made a report: %v", w.events)
				}
				w.set = setWith("")
				w.outcome = outcome.Outcome{Outcome: result.Outcome{
					Inventory: []metav1alpha1.InventoryEntry{settings}, Desired: 1,
					Waiting: []result.Waiting{{DependentReport: metav1alpha1.DependentReport{Dependent: "x"}}},
				}}
			},
			check: func(w *world) {
				if s := w.stored().Status; s.State != metav1alpha1.StateStalled {
					w.t.Errorf("the state is %s, ready is %+v", s.State, w.ready())
				}
			},
		},
		{
			name: "calls outside Kubernetes are under way: their tokens are kept, and recorded before the next write",
			first: func(w *world) {
				w.outcome.Inventory = []metav1alpha1.InventoryEntry{{
					Group: manifests.ExternalGroup, Version: "v1", Kind: "Schema", Name: "db", UID: "token", External: true,
					Begun: true,
				}}
			},
			between: (*world).succeeds,
			check: func(w *world) {
				if r := w.request; !r.Unrecorded || len(r.Inventory) != 1 || r.Inventory[0].UID != "token" ||
					!r.Inventory[0].Begun {
					w.t.Errorf("the request has %+v", w.request.Inventory)
				}
			},
		},
		{
			name: "the component is created again: nothing is kept of the previous one",
			between: func(w *world) {
				previous := w.stored()
				previous.Finalizers = nil
				if err := w.server.Update(w.t.Context(), previous); err != nil {
					w.t.Fatal(err)
				}
				if err := w.server.Delete(w.t.Context(), previous); err != nil {
					w.t.Fatal(err)
				}
				again := &part{}
				again.SetGroupVersionKind(partGVK)
				again.Namespace, again.Name, again.UID, again.Generation = web.Namespace, web.Name, "v", 1
				if err := w.server.Create(w.t.Context(), again); err != nil {
					w.t.Fatal(err)
				}
				w.loaded.Entries = nil
				w.succeeds()
			},
			check: func(w *world) {
				if w.request.Revision != 1 || len(w.request.Inventory) != 0 || len(w.rendering.Exports) != 0 {
					w.t.Errorf("the request has %s, the rendering %v", names(w.request.Inventory), w.rendering.Exports)
				}
				w.expectTold("create 1")
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newEnding(t)
			if c.first != nil {
				c.first(w)
			}
			w.woken = nil
			if after := w.reconcile(); after != 0 || len(w.woken) != 1 {
				t.Errorf("the first pass is continued after %s, and woke %v; want a pass at once", after, w.woken)
			}
			if len(w.events) != 0 || slices.Contains(w.steps, "hook PostReconcile") || slices.Contains(w.steps,
				"hook PostPass") {
				t.Errorf("the first pass made a report: events %v, steps %q", w.events, w.steps)
			}
			w.steps = nil
			c.between(w)
			w.reconcile()
			c.check(w)
		})
	}
}

func count(steps []string, step string) (n int) {
	for _, s := range steps {
		if s == step {
			n++
		}
	}
	return n
}

func TestAPassThatEndsForAnExportWritesNoStatus(t *testing.T) {
	w := newEnding(t)
	w.reconcile()
	w.expect("release left", "hook PostRead", "hook PreReconcile", "validate", "owner", "target", "check the kubeconfig",
		"declare", "inputs", "load", "protect the kubeconfig", "render", "begin", "apply", "remember owned")
	w.succeeds()
	w.reconcile()
	w.expect("release left", "hook PostRead", "hook PreReconcile", "validate", "owner", "target", "check the kubeconfig",
		"declare", "inputs", "load", "protect the kubeconfig", "render", "begin", "apply", "protect the kubeconfig",
		"hook PostReconcile", "remember owned", "hook PostPass", "record", "write the status", "delete stale")
}

func TestAPassThatEndsForAnExportTellsItsChangesIfTheOperatorStops(t *testing.T) {
	w := newEnding(t)
	ctx, stop := context.WithCancel(t.Context())
	w.inApply = func(context.Context, applier.Request) error {
		stop()
		return nil
	}
	if _, err := w.Reconcile(ctx, web); err != nil {
		t.Fatal(err)
	}
	w.expectTold("apply 1")
	if len(w.woken) != 0 {
		t.Error("a pass begins after the end of the operator")
	}
}

// Without this bound, a rendering that asks for another export with each value would be made again without end.
func TestPassesThatEndForExportsAreBounded(t *testing.T) {
	w := newEnding(t)
	w.MinInterval = time.Minute
	for i := range maxEnds {
		w.endsForAnother(i)
		if after := w.reconcile(); after != 0 || w.request.HoldExports || len(w.woken) != i+1 {
			t.Fatalf("pass %d: the next one is due after %s, woken %v", i, after, w.woken)
		}
	}
	w.outcome = outcome.Outcome{Outcome: result.Outcome{
		Inventory: w.loaded.Entries, Desired: 1, Waiting: []result.Waiting{{Open: true}},
	}}
	if after := w.reconcile(); after != time.Minute || !w.request.HoldExports || w.kept().ends != 0 {
		t.Errorf("the next pass is due after %s, want the shortest interval; kept %+v", after, w.kept())
	}
	if len(w.woken) != maxEnds || w.ready().Status == "True" {
		t.Errorf("woken %v, ready is %+v", w.woken, w.ready())
	}
}

// A preview makes the passes over one component in memory, and persists nothing.
func TestAPassIsRepeatedOnTheSameComponent(t *testing.T) {
	w := newEnding(t)
	c := w.component()
	for i := range maxEnds + 1 {
		w.endsForAnother(i)
		if i == maxEnds {
			w.outcome.Asked = nil
		}
		o, err := w.Apply(t.Context(), c)
		if err != nil || (o.Asked == nil) != (i == maxEnds) || w.request.HoldExports != (i == maxEnds) {
			t.Fatalf("pass %d: %+v, %v; holds the exports: %t", i, o, err, w.request.HoldExports)
		}
		if r := w.request; r.Revision != 2 || names(r.Inventory) != "settings 1.0" {
			t.Errorf("pass %d: revision %d, %s", i, r.Revision, names(r.Inventory))
		}
	}
}

// Without this, a component that another client changes all the time would make pass after pass at once.
func TestAnotherClientDoesNotResetTheBoundOfPassesThatEndForExports(t *testing.T) {
	w := newEnding(t)
	for i := range maxEnds {
		w.endsForAnother(i)
		w.reconcile()
		w.change(func(p *part) { p.Status.Revision += 5 })
	}
	w.endsForAnother(maxEnds)
	if w.reconcile(); !w.request.HoldExports || w.kept().ended == nil {
		t.Errorf("after %d passes the rendering is not applied as it is; kept %+v", maxEnds, w.kept())
	}
}

// Passes with an unwritten status between them are not successive.
func TestAPassWithAnUnwrittenStatusResetsTheBoundOfPassesThatEndForExports(t *testing.T) {
	w := newEnding(t)
	for i := range maxEnds {
		w.endsForAnother(i)
		w.reconcile()
		w.succeeds()
		w.fails["write the status"] = errOh
		if _, err := w.Reconcile(t.Context(), web); err == nil || w.request.HoldExports {
			t.Fatalf("pass %d: the error is %v, holds the exports: %t", i, err, w.request.HoldExports)
		}
		delete(w.fails, "write the status")
	}
	w.endsForAnother(maxEnds)
	if w.reconcile(); w.request.HoldExports || w.kept().ends != 1 {
		t.Errorf("the rendering is held after single passes that ended: kept %+v", w.kept())
	}
}

// A large component that waits for a watch would otherwise have its inventory in memory several times.
func TestKeptStatusesShareTheirLines(t *testing.T) {
	w := newEnding(t)
	w.reconcile()
	ended := w.kept().ended
	for _, s := range []*metav1alpha1.Status{ended.before, ended.persisted, ended.status} {
		if len(s.Inventory) != 1 || &s.Inventory[0] != &ended.persisted.Inventory[0] {
			t.Errorf("the lines %v are a copy", s.Inventory)
		}
	}
}

func TestAPassThatEndsForAnExportIsCounted(t *testing.T) {
	w := newEnding(t)
	before := passesWith(t, telemetry.ResultObserving)
	w.reconcile()
	if got := passesWith(t, telemetry.ResultObserving) - before; got != 1 {
		t.Errorf("got %v passes with the result %s, want 1", got, telemetry.ResultObserving)
	}
}

// passesWith returns how many passes of the reconciler had a result so far.
func passesWith(t *testing.T, outcome string) (passes float64) {
	t.Helper()
	if err := metrics.Register(); err != nil {
		t.Fatal(err)
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "fairlead_passes_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if slices.Contains(labels, reconciler) && slices.Contains(labels, outcome) {
				passes += m.GetCounter().GetValue()
			}
		}
	}
	return passes
}
