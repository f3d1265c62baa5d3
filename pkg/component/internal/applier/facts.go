package applier

import (
	"context"
	"fmt"
	"maps"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/metrics"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Watch starts the watches that a pass needs, and returns the facts for its first plan. ok is false while the first
// list of a watch is not complete; Request.Wake is called when the list is complete.
func (a *Applier) Watch(ctx context.Context, client *target.Client, r Request) (facts plan.Facts, ok bool) {
	defer a.options.Monitor.Time(metrics.StepObserve)()
	ownerID, inventory := r.Owner.ID(), plan.NewInventory(r.Inventory)
	defaults := planPolicies(r.Policies.Or(a.options.Policies))
	needs := needsOf(client, r, inventory, defaults.Delete)
	needs.Apply(inventory)
	var additional []manifests.ManagedType
	if r.deleting && len(inventory) > 0 {
		additional = r.Managed
	}
	protector := a.Protector(client, r)
	managed := protector.Types(ctx, plan.Removals(inventory, r.Desired), additional)
	observed, known := a.observed(client, r)
	client.Observer.Watch(ownerID, client.Reader, watchedResources(client, r, inventory), r.Wake)
	client.Observer.WatchInstances(ownerID, managed.Kinds())
	if !known || !client.Observer.Synced(ownerID) || !r.externals().Synced() {
		return plan.Facts{}, false
	}
	facts = plan.Facts{
		Owner: ownerID, Component: r.Owner.Component(), RemoteTarget: client.RemoteTarget, Managed: r.Managed,
		Adoptions: r.Adoptions, Needs: needs,
		PreviousManagers: a.options.PreviousManagers, Defaults: defaults,
		PreDelete: r.PreDelete, PostDelete: r.PostDelete, Phases: r.Phases, Desired: r.Desired, Excluded: r.Excluded,
		LeftOut:  r.LeftOut,
		Revision: r.Revision, Rendition: r.Rendition, Trigger: r.Trigger, Now: r.Now, Started: client.Started,
		Matched: client.View().Matched(),
		Names:   plan.Names{All: client.User == "", Known: a.state.namesOf(ownerID, reviewerOf(client, r))},
		Guard:   a.state.guardOf(r.Owner),
		Repairs: a.state.repairsOf(ownerID, r.RepairNonce),
		Reason:  r.removalReason(), Inventory: inventory, Recorded: inventory,
		Results: map[manifests.Key]plan.Result{}, Contents: map[string]plan.Contents{},
		Observed: observed,
	}
	facts.Hold = r.Hold
	if r.Recorded != nil {
		facts.Recorded = r.Recorded
	}
	if r.Conditions != nil {
		facts.Conditional = r.Desired
	}
	facts.Live = Snapshot(client, r.externals(), r.ReadyFunc, facts)
	facts.Foreign = protector.WatchedForeign(ctx, facts, managed)
	return facts, true
}

// needsOf returns what a component needs in the cluster of its dependents. In another cluster than its own, these are
// the needs of the request, and the objects that kept objects use. fallback is the delete policy of dependents whose
// manifests set none.
func needsOf(
	client *target.Client, r Request, inventory plan.Inventory, fallback metav1alpha1.DeletePolicy,
) plan.Needs {
	self := plan.Self{Reconcile: r.Policies.Reconcile, Delete: fallback}
	if client.RemoteTarget {
		return plan.NewNeeds(r.Needs, self, nil, r.Desired)
	}
	self.Kind, self.User = r.Owner.Component().GroupKind(), client.User
	self.Operator = plan.Operator(client.Operator)
	return plan.NewNeeds(r.Needs, self, inventory, r.Desired)
}

// Snapshot returns the state of the objects that a plan needs. The state of an object comes from a watch, or from a
// response of the API server in this pass, whichever is newer. externals contains the states of the externals, and
// evaluate evaluates the conditions that see the component.
func Snapshot(client *target.Client, externals Externals, evaluate ReadyFunc, f plan.Facts) plan.Snapshot {
	snapshot := client.Observer.SnapshotFor(f.Owner, client.Reader, f.Keys())
	maps.Copy(snapshot, f.Observed)
	for key, r := range f.Results {
		if watched := snapshot[key]; watched != nil && r.Observed != nil {
			snapshot[key] = new(newest(*watched, r))
		}
	}
	maps.Copy(snapshot, externals.Snapshot(f))
	addMatchResults(client, f, snapshot)
	evaluateDeferred(client, evaluate, snapshot)
	return snapshot
}

// evaluateDeferred evaluates the conditions in Go that see the component, for those objects whose bodies the watches
// have. An object without a body is not ready, because a pass makes no requests for conditions.
func evaluateDeferred(client *target.Client, evaluate ReadyFunc, snapshot plan.Snapshot) {
	for key, watched := range snapshot {
		if evaluate == nil || watched == nil || watched.Readiness.Deferred == "" {
			continue
		}
		evaluated, name := *watched, watched.Readiness.Deferred
		body := client.Observer.Body(client.Reader, key)
		switch {
		case key.IsExternal():
			evaluated.Readiness.Message = fmt.Sprintf("%s: go/%s sees cached objects only, and no externals; use a "+
				"condition in CEL, or the method Ready of the kind", manifests.AnnotationReadyWhen, name)
		case body != nil && body.GetResourceVersion() == watched.ResourceVersion:
			evaluated.Readiness = evaluate(name, body)
		default:
			evaluated.Readiness.Message = fmt.Sprintf(
				"%s: go/%s sees cached objects only; add %s to Options.Watching.CacheFull",
				manifests.AnnotationReadyWhen, name, key.GroupKind())
		}
		snapshot[key] = &evaluated
	}
}

// addMatchResults adds the results of matchers to those objects of a snapshot whose bodies the watches have. Their
// copies in the watches have no result, because it depends on the manifest.
func addMatchResults(client *target.Client, f plan.Facts, snapshot plan.Snapshot) {
	for i := range f.Desired {
		key := f.Desired[i].Key
		watched := snapshot[key]
		if !f.Matched[key.GroupKind()] || watched == nil || watched.Presence != plan.Present || watched.MatchResult != nil {
			continue
		}
		body := client.Observer.Body(client.Reader, key)
		if body != nil && body.GetResourceVersion() == watched.ResourceVersion {
			matched := *watched
			matched.MatchResult = client.View().MatchResult(body, f.Desired[i])
			snapshot[key] = &matched
		}
	}
}

// isOutdated reports whether an object has changed since a snapshot. latest has the same keys.
func isOutdated(snapshot, latest plan.Snapshot) bool {
	for key, now := range latest {
		before := snapshot[key]
		if now != before && (before == nil || now.Presence != before.Presence || now.UID != before.UID ||
			now.ResourceVersion != before.ResourceVersion) {
			return true
		}
	}
	return false
}

// newest returns the newer state of an object: the watched state, or the state in a response of this pass. Either state
// may be out of date: a watch is always a little late, and another client may have written the object after the
// response. An absent object has the last resource version that the object had before it was deleted.
func newest(watched plan.Observed, r plan.Result) plan.Observed {
	switch {
	case r.Observed == nil:
		return watched
	case watched.Presence != plan.Present:
		return *r.Observed
	case r.Observed.Presence == plan.Absent && watched.UID == r.Observed.UID:
		// The watch is late, because a deleted object is never created again with the same UID.
		return *r.Observed
	case inspect.Newer(watched.ResourceVersion, r.Observed.ResourceVersion):
		return withCoverage(watched, *r.Observed)
	}
	return *r.Observed
}

// withCoverage copies the coverage of the manifest from the response of a write to a later version of the object, if no
// other client has taken over a field since the write. Without this copy, the coverage of the later version would be
// unknown, and the object would have to be read. For example, each write of the status by a controller right after an
// apply would cost a read.
func withCoverage(later, answered plan.Observed) plan.Observed {
	same := later.UID == answered.UID && later.Digest == answered.Digest &&
		later.Applied == answered.Applied && later.Updated == answered.Updated
	// Partial coverage is not copied: other clients may have changed the values of fields that are not listed in our
	// entries.
	if same && later.Coverage == plan.CoverageUnknown && answered.Coverage == plan.CoverageFull {
		later.Coverage = plan.CoverageFull
	}
	return later
}

// watchedResources returns the watched resources of a pass, with the preferred version of each type.
func watchedResources(client *target.Client, r Request, inventory plan.Inventory) map[observe.WatchedResource]string {
	found := map[observe.WatchedResource]string{}
	for key, entry := range inventory {
		if !key.IsExternal() {
			found[client.Observer.ResourceOf(key)] = entry.Version
		}
	}
	for _, objects := range [][]manifests.Object{r.Desired, r.PreDelete, r.PostDelete} {
		for _, o := range objects {
			if o.Settings.IsObserved() && o.Scope != manifests.ScopeUnknown || o.Key.IsExternal() {
				continue
			}
			found[client.Observer.ResourceOf(o.Key)] = o.Version
		}
	}
	return found
}

func planPolicies(p metav1alpha1.Policies) plan.Policies {
	return plan.Policies{
		Reconcile: p.Reconcile, Update: p.Update, Adoption: p.Adoption, Delete: p.Delete,
		MissingNamespaces: p.MissingNamespaces, Reapply: p.Reapply,
	}
}
