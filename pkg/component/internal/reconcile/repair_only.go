package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// unread ends a pass whose inputs cannot be read. The dependents are those of the last rendering.
func (p *Pass) unread(ctx context.Context, c *Component, w work, cause error) (outcome.Outcome, error) {
	if p.Store == nil || !isFailure(cause) || p.hasNothing(c) {
		return pending(cause)
	}
	var err error
	if w.recorded, err = p.load(ctx, c, w); err != nil {
		return outcome.Outcome{}, err
	}
	return p.repairOnly(ctx, c, w, cause)
}

// invalid ends a pass over a component whose spec is invalid. The dependents are those of the last rendering, if they
// are in the cluster that the spec names. A refused spec must not choose the cluster or the identity of a request, and
// permits nothing, so these must be as in the last valid spec that the process knows.
func (p *Pass) invalid(ctx context.Context, c *Component, cause error) (outcome.Outcome, error) {
	if p.Store == nil || !isFailure(cause) || p.hasNothing(c) || !c.State.permitted.is(c.Declared) {
		return outcome.Outcome{}, cause
	}
	w, err := p.acquire(ctx, c)
	if err != nil || w.target.CheckCluster(c.GetStatus(), 1) != nil {
		return outcome.Outcome{}, cause
	}
	return p.unread(ctx, c, w, cause)
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

// repairOnly ends a pass whose inputs cannot be rendered, or must not be rendered yet. If the process has the last
// rendering in memory, the dependents are repaired as it says. Otherwise they are only counted, and the error says that
// their repair needs the inputs. repairOnly returns cause, and with it the state of the dependents, so that their
// numbers in the status are current.
func (p *Pass) repairOnly(ctx context.Context, c *Component, w work, cause error) (outcome.Outcome, error) {
	entries := w.recorded.Entries
	if p.Store == nil || !isFailure(cause) || len(entries) == 0 || slices.ContainsFunc(entries, isExternal) {
		return pending(cause)
	}
	set, found := p.Rendering.Last(c.Name(), c.GetStatus().InputDigest, w.target.Cluster)
	if !found || !areRepairable(set.Desired(), cause) {
		o, counted := p.Applier.Count(w.target.Client, p.newRequest(c, w))
		o.Unrendered = true
		if !counted {
			return outcome.Outcome{}, cause
		}
		return o, unrepaired(cause, o)
	}
	request, err := p.repairRequest(c, w, set)
	if err != nil {
		return outcome.Outcome{}, err
	}
	o, err := p.Applier.Apply(ctx, w.target.Client, request)
	c.State.addCreated(w.target.Client, o)
	o.Unrendered = true
	if o = p.explain(ctx, c, w.target, o); err != nil {
		return o, err
	}
	return o, cause
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
	explained.Message += fmt.Sprintf("; %d of %d dependents are ready; a repair of the others needs these inputs, because the "+
		"last rendering is not in memory: %s", o.Ready, o.Desired, strings.Join(names, ", "))
	return &explained
}

// maxUnrepaired is the number of dependents that the error of unrepaired names.
const maxUnrepaired = 3

// isFailure reports whether an error ends a pass with a report.
func isFailure(err error) bool {
	return err != nil && !passerror.Interrupted(err) && !errors.Is(err, passerror.ErrObserving) &&
		!errors.Is(err, budget.ErrWait) && !errors.Is(err, turn.ErrLater)
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
