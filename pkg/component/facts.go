package component

import (
	"context"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// facts starts the watches that a pass needs, and collects what is known. It returns false while a first list is under way.
func (e *Engine) facts(ctx context.Context, p Pass) (plan.Facts, bool) {
	defer e.monitor.meter.Time(metrics.StepObserve)()
	ownerID, inventory := p.Owner.ID(), plan.NewInventory(p.Inventory)
	managed := e.definedAmong(ctx, plan.Victims(inventory, p.Desired))
	if p.deleting && len(inventory) > 0 {
		managed = append(managed, e.additional(ctx, p.Managed)...)
	}
	e.observer.Watch(ownerID, e.viewer, e.places(p, inventory), p.Wake)
	e.observer.WatchInstances(ownerID, kindsOf(managed))
	if !e.observer.Synced(ownerID) {
		return plan.Facts{}, false
	}
	facts := plan.Facts{
		Owner: ownerID, Component: p.Owner.Component(), Elsewhere: e.elsewhere, Managed: p.Managed, Predecessors: e.predecessors,
		Defaults:  policiesForPlan(p.Policies.Or(e.defaults)),
		PreDelete: p.PreDelete, PostDelete: p.PostDelete, Desired: p.Desired, Revision: p.Revision, Rendition: p.Rendition, Trigger: p.Trigger, Now: p.Now, Started: e.started,
		Guard:   e.guards.known(ownerID, guardName(e.name, ownerID)),
		Repairs: e.repairs.known(ownerID, p.Insist),
		Reason:  p.reason(), Inventory: inventory, Results: map[manifests.Key]plan.Result{}, Contents: map[string]plan.Contents{},
	}
	facts.Live = e.snapshot(facts)
	facts.Foreign = e.watchedForeign(ctx, facts, managed)
	return facts, true
}

// snapshot returns the state of the objects that a plan looks at: what the watches have, and what this pass was answered, whichever is newer.
func (e *Engine) snapshot(f plan.Facts) plan.Snapshot {
	snapshot := e.observer.Snapshot(e.viewer, f.Keys())
	for key, r := range f.Results {
		if watched := snapshot[key]; watched != nil && r.Observed != nil {
			snapshot[key] = new(latest(*watched, r))
		}
	}
	return snapshot
}

// check asks the API server, right before anything is deleted that holds other objects, what it holds, and enters it into the facts. It
// returns whether there was anything to ask. What a watch said may be late by a moment, and Kubernetes deletes all instances with their
// definition, and all objects with their namespace.
func (e *Engine) check(ctx context.Context, f plan.Facts, p plan.Plan, checked map[manifests.Key]bool) bool {
	fresh := unchecked(p, checked)
	for _, m := range e.definedAmong(ctx, fresh) {
		f.Foreign[m.ManagedType] = e.listedForeign(ctx, f, m)
	}
	for _, entry := range fresh {
		if plan.IsNamespace(plan.KeyOf(entry)) {
			f.Contents[entry.Name] = e.contents(ctx, f, entry.Name)
		}
	}
	return len(fresh) > 0
}

// reason says why what is not desired goes.
func (p Pass) reason() plan.Reason {
	if p.deleting {
		return plan.ReasonDeleted
	}
	return plan.ReasonPruned
}

// going returns the record of what is deleted: what is ours, and neither desired nor released.
func going(f plan.Facts) plan.Inventory {
	return plan.NewInventory(slices.DeleteFunc(plan.Victims(f.Inventory, f.Desired), func(e metav1alpha1.InventoryEntry) bool {
		return plan.Releases(e, f.Reason)
	}))
}

// latest chooses between what the watches know of an object and what this pass was told. Both may be late: the watch by nature, an answer
// because somebody wrote after it. An absent object's version is the one that it was last known in.
func latest(watched plan.Observed, r plan.Result) plan.Observed {
	switch {
	case r.Observed == nil:
		return watched
	case watched.Presence != plan.Present:
		return *r.Observed
	case r.Observed.Presence == plan.Absent && watched.UID == r.Observed.UID:
		// The watch lags behind: an object that is gone does not come back under its UID.
		return *r.Observed
	case inspect.Newer(watched.ResourceVersion, r.Observed.ResourceVersion):
		return carried(watched, *r.Observed)
	}
	return *r.Observed
}

// carried adds to a later version of an object what an answer told of the manifest, where that still holds: nobody has taken a field from us
// since. So the status that a controller writes at once does not cost a read of what was just applied.
func carried(later, answered plan.Observed) plan.Observed {
	same := later.UID == answered.UID && later.Digest == answered.Digest && later.Applied == answered.Applied && later.Updated == answered.Updated
	// Of fields that our entries do not cover, others may have changed the values.
	if same && later.Coverage == plan.CoverageUnknown && answered.Coverage == plan.CoverageFull {
		later.Coverage = plan.CoverageFull
	}
	return later
}

// fold enters a result, and returns the changes with what it wrote.
func fold(results map[manifests.Key]plan.Result, a plan.Action, r plan.Result, changes []outcome.Change) []outcome.Change {
	r.Attempts = results[a.Key].Attempts + 1
	if r.Observed == nil && r.Failure == nil {
		r.Observed = results[a.Key].Observed
	}
	results[a.Key] = r
	if r.Failure == nil && r.Verb == a.Verb && a.Verb.Writes() {
		return append(changes, changeOf(a))
	}
	return changes
}
