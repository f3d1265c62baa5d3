package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/rendering"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// repairs ends a pass that renders nothing, because its inputs cannot be read, or must not be rendered yet. If the
// process has the last rendering in memory, the dependents are repaired as this rendering says. Otherwise they are only
// counted, and the error says that their repair needs the inputs.
type repairs struct {
	pass *Pass
	c    *Component
	// work is what the steps of the pass found. It is empty if the spec is invalid.
	work work
}

// unread ends a pass whose inputs cannot be read. It loads the inventory first.
func (r repairs) unread(ctx context.Context, cause error) (outcome.Outcome, error) {
	if r.pass.Store == nil || !isFailure(cause) || r.pass.hasNothing(r.c) {
		return pending(cause)
	}
	var err error
	if r.work.recorded, err = r.pass.load(ctx, r.c, r.work); err != nil {
		return outcome.Outcome{}, err
	}
	return r.only(ctx, cause)
}

// invalid ends a pass over a component whose spec is invalid. The dependents are repaired only if they are in the
// cluster that the spec names. A refused spec must not choose the cluster or the identity of a request, and permits
// nothing, so these must be as in the last valid spec that the process knows.
func (r repairs) invalid(ctx context.Context, cause error) (outcome.Outcome, error) {
	if r.pass.Store == nil || !isFailure(cause) || r.pass.hasNothing(r.c) || !r.c.State.permitted.is(r.c.Declared) {
		return outcome.Outcome{}, cause
	}
	var err error
	if r.work, err = r.pass.acquire(ctx, r.c); err != nil || r.work.target.CheckCluster(r.c.GetStatus(), 1) != nil {
		return outcome.Outcome{}, cause
	}
	return r.unread(ctx, cause)
}

// only ends a pass that has loaded the inventory. It returns cause, and with it the state of the dependents, so that
// their numbers in the status are current.
func (r repairs) only(ctx context.Context, cause error) (outcome.Outcome, error) {
	entries := r.work.recorded.Entries
	if r.pass.Store == nil || !isFailure(cause) || len(entries) == 0 || slices.ContainsFunc(entries, isExternal) {
		return pending(cause)
	}
	set, found := r.pass.Rendering.Last(r.c.Name(), r.c.GetStatus(), r.work.target.Cluster)
	if !found || !areRepairable(set.Desired(), cause) {
		return r.count(cause)
	}
	o, err := r.apply(ctx, set)
	return o, cmp.Or(err, cause)
}

// count counts the dependents, and repairs none.
func (r repairs) count(cause error) (outcome.Outcome, error) {
	o, counted := r.pass.Applier.Count(r.work.target.Client, r.pass.newRequest(r.c, r.work))
	o.Unrendered = true
	if !counted {
		return outcome.Outcome{}, cause
	}
	return o, unrepaired(cause, o)
}

// apply makes the repairs of the last rendering.
func (r repairs) apply(ctx context.Context, last rendering.Set) (outcome.Outcome, error) {
	request, err := r.request(last)
	if err != nil {
		return outcome.Outcome{}, err
	}
	o, err := r.pass.Applier.Apply(ctx, r.work.target.Client, request)
	r.c.State.addCreated(r.work.target.Client, o)
	o.Unrendered = true
	return r.pass.explain(ctx, r.c, r.work.target, o), err
}

// request returns the request that makes only repairs of the last rendering.
func (r repairs) request(last rendering.Set) (applier.Request, error) {
	request, s := r.pass.newRequest(r.c, r.work), r.c.GetStatus()
	request.Desired, request.Asked, request.Hold, request.HoldExports = last.Desired(), last.Asked(), true, true
	request.Revision, request.Rendition = s.Revision, s.Rendition
	var err error
	if request.Trigger, err = digests.Of([]any{r.c.GetGeneration(), s.InputDigest}); err != nil {
		return request, err
	}
	request.RepairNonce, err = repairNonce(r.c.Object, r.pass.Reconciler, request.Trigger)
	return request, err
}

// permission is what a valid spec says about the requests of a component, and what it permits.
type permission struct {
	isKnown      bool
	target       target.Declaration
	namespace    string
	policies     metav1alpha1.Policies
	adopt        []metav1alpha1.AdoptRule
	adoptUnowned bool
}

// permissionOf returns the permission in the spec of a component.
func permissionOf(d Declared) permission {
	return permission{
		isKnown: true, target: d.Target, namespace: d.Namespace, policies: d.Policies, adopt: d.Adopt,
		adoptUnowned: d.AdoptUnowned,
	}
}

// is reports whether a spec has the same permission. An unknown permission is like no other.
func (p permission) is(d Declared) bool {
	return p.isKnown && reflect.DeepEqual(p, permissionOf(d))
}

// unrepaired adds the dependents that are missing or not ready to the error of a pass that repairs nothing.
func unrepaired(cause error, o outcome.Outcome) error {
	if len(o.Waiting) == 0 {
		return cause
	}
	names := make([]string, 0, maxUnrepaired)
	for _, w := range o.Waiting[:min(len(o.Waiting), maxUnrepaired)] {
		names = append(names, w.Dependent+" ("+w.Message+")")
	}
	explained := *passerror.Of(cause)
	needs := "a repair of the others needs these inputs"
	if len(explained.Components) > 0 {
		needs = "the others are repaired when these components are Ready"
	}
	explained.Message += fmt.Sprintf("; %d of %d dependents are ready; %s, because the last rendering is not in memory: %s",
		o.Ready, o.Desired, needs, strings.Join(names, ", "))
	return &explained
}

// maxUnrepaired is the number of dependents that the error of unrepaired names.
const maxUnrepaired = 3

// isFailure reports whether an error ends a pass with a report.
func isFailure(err error) bool {
	return err != nil && !passerror.Interrupted(err) && !errors.Is(err, passerror.ErrObserving) &&
		!errors.Is(err, budget.ErrWait) && !errors.Is(err, turn.ErrLater) && !settles(err)
}

// areRepairable reports whether objects can be repaired without the inputs: their conditions are evaluated with inputs,
// and externals have references of their own. A component that exceeds a quota writes nothing.
func areRepairable(desired []manifests.Object, cause error) bool {
	return passerror.Of(cause).Reason != metav1alpha1.ReasonQuotaExceeded &&
		!slices.ContainsFunc(desired, func(o manifests.Object) bool {
			return o.Settings.Conditions != nil || o.Key.IsExternal()
		})
}

func isExternal(e metav1alpha1.InventoryEntry) bool { return plan.KeyOf(e).IsExternal() }
