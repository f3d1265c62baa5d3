package reconcile

import (
	"context"
	"errors"
	"slices"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// repairOnly ends a pass whose inputs cannot be rendered, or must not be rendered yet. If the process has the last
// rendering in memory, the dependents are repaired as it says. repairOnly returns cause, and with it the state of the
// dependents, so that their numbers in the status are current.
func (p *Pass) repairOnly(
	ctx context.Context, c *Component, owner manifests.Owner, t target.Target, entries []metav1alpha1.InventoryEntry,
	cause error,
) (outcome.Outcome, error) {
	if p.Store == nil || !isFailure(cause) || slices.ContainsFunc(entries, isExternal) {
		return pending(cause)
	}
	set, found := p.Rendering.Last(c.Name(), c.GetStatus().InputDigest, t.Cluster)
	if desired := set.Desired(); !found || !areRepairable(desired) {
		return pending(cause)
	}
	request := p.newRequest(c, owner, entries)
	request.Desired, request.Asked, request.Hold, request.HoldExports = set.Desired(), set.Asked(), true, true
	request.Revision, request.Rendition = c.GetStatus().Revision, c.GetStatus().Rendition
	o, err := p.repair(ctx, c, t, request)
	if err != nil {
		return o, err
	}
	return o, cause
}

// repair applies a request that makes only repairs.
func (p *Pass) repair(
	ctx context.Context, c *Component, t target.Target, request applier.Request,
) (o outcome.Outcome, err error) {
	request.Trigger, err = manifests.Digest([]any{c.GetGeneration(), c.GetStatus().InputDigest})
	if err == nil {
		request.RepairNonce, err = p.repairNonce(c, request.Trigger)
	}
	if err != nil {
		return outcome.Outcome{}, err
	}
	o, err = p.Applier.Apply(ctx, t.Client, request)
	c.Memory.addCreated(t.Client, o)
	o.Unrendered = true
	return p.explain(ctx, c, t, o), err
}

// isFailure reports whether an error ends a pass with a report.
func isFailure(err error) bool {
	return err != nil && !passerror.Interrupted(err) && !errors.Is(err, passerror.ErrObserving) &&
		!errors.Is(err, budget.ErrWait) && !errors.Is(err, turn.ErrLater)
}

// areRepairable reports whether objects can be repaired without the inputs. The conditions of objects are evaluated with
// inputs, and externals with their own references.
func areRepairable(desired []manifests.Object) bool {
	return !slices.ContainsFunc(desired, func(o manifests.Object) bool {
		return o.Settings.Conditions != nil || o.Key.IsExternal()
	})
}

func isExternal(e metav1alpha1.InventoryEntry) bool { return plan.KeyOf(e).IsExternal() }
