package execute

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// DryRunResult is the result of an action that was carried out as a dry run.
type DryRunResult struct {
	plan.Result
	// Before is the live object, or nil if there is none. After is the object in the response to the dry run. After is
	// nil if the API server refused the request, or if the object has changed since it was planned.
	Before, After *unstructured.Unstructured
}

// DryRun carries out a create, an update or a read, and returns the object in the response. DryRun sends the same
// requests as Run, so the caller must use an Executor whose clients turn all writes into dry runs.
func (e *Executor) DryRun(ctx context.Context, a plan.Action) DryRunResult {
	var r DryRunResult
	if a.Preconditions.UID != "" && a.Verb != plan.VerbRead {
		r.Before, _ = e.Live(ctx, a)
	}
	dry := *e
	// No watch event follows a dry run, so the watches must not expect one.
	dry.writes, dry.writer.tracker = untracked{}, untracked{}
	dry.writer.dryRun = true
	dry.writer.onAnswer = func(obj *unstructured.Unstructured) { r.After = obj.DeepCopy() }
	if a.Verb == plan.VerbApply && (a.Migrate || a.TakesOver()) {
		r.Result = dry.dryRunMigration(ctx, a)
	} else {
		r.Result = dry.Run(ctx, nil, []plan.Action{a})[0]
	}
	if r.Failure != nil || r.Verb != a.Verb || a.Verb == plan.VerbRead {
		r.After = nil
	}
	return r
}

// untracked is a WriteTracker that does nothing.
type untracked struct{}

func (untracked) BeginWrite(manifests.Key) func(*plan.Observed) { return func(*plan.Observed) {} }

func (untracked) BeginRead(manifests.Key) func(*plan.Observed) { return func(*plan.Observed) {} }

func (untracked) Received(manifests.Key, *unstructured.Unstructured) {}

// dryRunMigration carries out an apply that rewrites managed fields first, as each take-over from another owner does.
// Run makes two writes, and the second write depends on the first. A dry run stores nothing, so dryRunMigration sends a
// single request with the result of both writes.
func (e *Executor) dryRunMigration(ctx context.Context, a plan.Action) plan.Result {
	whole, err := a.Object.Whole()
	if err != nil {
		return unreadable(err, a)
	}
	a.Object = &whole
	observed, err := e.writer.dryRunMigrated(ctx, a)
	if err != nil {
		return e.failed(ctx, a, err)
	}
	return plan.Result{Verb: a.Verb, Observed: observed}
}

// dryRunMigrated sends an update that sets the fields of the manifest and removes our other fields. Our fields include
// the fields that previous managers hand over.
func (w *writer) dryRunMigrated(ctx context.Context, a plan.Action) (*plan.Observed, error) {
	resource, err := w.clients.resource(a)
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, a.Key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	entries, err := handOverFields(a, w.reconciler)(live, w.view.OwnFields(live.GetManagedFields()))
	if err != nil {
		return nil, err
	}
	managed := live.DeepCopy()
	managed.SetManagedFields(entries)
	if a, err = w.keepIgnored(a, managed); err != nil {
		return nil, err
	}
	if a.TakesOver() {
		data, err := json.Marshal(map[string]any{"metadata": takeoverPatch(live, a, w.reconciler)})
		if err != nil {
			return nil, err
		}
		options := metav1.PatchOptions{FieldManager: w.view.FieldManager()}
		if live, err = resource.Patch(ctx, a.Key.Name, types.MergePatchType, data, options); err != nil {
			return nil, err
		}
	}
	owned := inspect.Entry(entries, w.reconciler, inspect.Operation(metav1alpha1.UpdateSSAOverride))
	merged, _ := merge(live, sent(a), fieldpath.Mask(owned, a.Object.Settings.IgnoredPaths()))
	updated := &unstructured.Unstructured{Object: merged}
	updated.SetManagedFields(w.view.SentFields(entries))
	updated.SetResourceVersion(live.GetResourceVersion())
	obj, err := w.update(ctx, resource, a, managed, updated)
	if err != nil {
		return nil, err
	}
	return w.observe(ctx, obj, a), nil
}
