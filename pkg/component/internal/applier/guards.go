package applier

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const (
	// guardIdle is the time after which a guard that no pass has set up or probed is removed. A pass needs a guard for
	// seconds. Later passes set it up again.
	guardIdle = time.Minute
	// guardRetry is the time after which a failed request about unused guards is repeated. A guard is given up after
	// guardAttempts failed requests. The next process finds it again.
	guardRetry    = 10 * time.Second
	guardAttempts = 30
	// guardRefusals is the number of refused lists of guards after which the operator lacks the right. An API server that
	// has just started refuses requests until it has read the roles.
	guardRefusals = 6
)

// GuardOwners tells the GuardCollector which components exist.
type GuardOwners interface {
	// Identity returns the fields of the owner that are the same for all components of the reconciler: all except
	// namespace and name.
	Identity(ctx context.Context) (manifests.Owner, error)
	// Exists reads from the API server whether a component exists.
	Exists(ctx context.Context, owner manifests.Owner) (bool, error)
}

// GuardCollector is the garbage collection of guards. A guard refuses new instances of a type, so a guard that is not
// needed disturbs all users of the type. The GuardCollector removes
//   - the guard of an owner that the applier has forgotten, at once,
//   - a guard that no pass has used for guardIdle, because the component is suspended, its rendering fails, or its
//     deletion waits for something else,
//   - guards of earlier processes, at the start: at once if their component no longer exists, and otherwise after
//     guardIdle.
//
// The GuardCollector lists the guards once, in the cluster of the components, and sends no request while there are no
// unused guards. The guards of earlier processes in other clusters are removed by the passes over their components.
type GuardCollector struct {
	Applier *Applier
	// Client is the client for the cluster of the components, with the rights of the operator.
	Client *target.Client
	Owners GuardOwners
	Clock  clock.Clock
	// SkipSearch is set if the operator has rights in single namespaces only, so that it cannot list guards.
	SkipSearch bool

	// unused are the guards that are to be removed. inherited are the guards of earlier processes that may be in use.
	unused    []unusedGuard
	inherited []execute.Guard
	listed    bool
	refusals  int
}

// Run removes unused guards until ctx ends.
func (c *GuardCollector) Run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	c.Applier.state.setChanged(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	for ctx.Err() == nil {
		due := c.collect(ctx)
		c.wait(ctx, due, wake)
	}
}

// wait waits until ctx ends, the state changes, or a time is reached. The zero time is never reached.
func (c *GuardCollector) wait(ctx context.Context, due time.Time, wake <-chan struct{}) {
	var alarm <-chan time.Time
	if !due.IsZero() {
		timer := c.Clock.NewTimer(max(0, due.Sub(c.Clock.Now())))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-wake:
	case <-alarm:
	}
}

// collect removes the guards that are not in use. It returns the time of the next call, or zero if only a changed
// state requires a call.
func (c *GuardCollector) collect(ctx context.Context) (due time.Time) {
	now := c.Clock.Now()
	sooner := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if !c.SkipSearch && !c.listed && !c.list(ctx) {
		sooner(now.Add(guardRetry))
	}
	unused, next := c.Applier.state.takeUnused(now.Add(-guardIdle))
	if !next.IsZero() {
		sooner(later(next.Add(guardIdle), now.Add(time.Second)))
	}
	c.unused = append(c.unused, unused...)
	var young []execute.Guard
	for _, g := range c.inherited {
		if c.mayBeUsed(ctx, g, now) {
			young = append(young, g)
			sooner(g.Created.Add(guardIdle))
			continue
		}
		c.unused = append(c.unused, unusedGuard{ownerID: g.OwnerID, name: g.Name, client: c.Client})
	}
	c.inherited = young
	if c.unused = c.removeAll(ctx); len(c.unused) > 0 {
		sooner(now.Add(guardRetry))
	}
	return due
}

// removeAll removes the unused guards, and returns those that are to be tried again.
func (c *GuardCollector) removeAll(ctx context.Context) (failed []unusedGuard) {
	for _, g := range c.unused {
		if g.attempts++; !c.remove(ctx, g) && g.attempts < guardAttempts {
			failed = append(failed, g)
		}
	}
	return failed
}

// list finds the guards of earlier processes. It reports whether another try is useless.
func (c *GuardCollector) list(ctx context.Context) (done bool) {
	var identity manifests.Owner
	found, err := c.Client.Executor.Guards(ctx)
	if err == nil && len(found) > 0 {
		identity, err = c.Owners.Identity(ctx)
	}
	if apierrors.IsForbidden(err) {
		c.refusals++
	}
	c.listed = err == nil || c.refusals == guardRefusals || apierrors.IsNotFound(err)
	if err != nil {
		log.FromContext(ctx).Info("guards of an earlier process are not removed", "cause", err.Error())
		return c.listed
	}
	for _, g := range found {
		owner := identity
		owner.Namespace, owner.Name = g.Owner.Namespace, g.Owner.Name
		if g.Owner == owner || g.Owner == (manifests.Owner{}) {
			c.inherited = append(c.inherited, g)
		}
	}
	return true
}

// mayBeUsed reports whether a guard of an earlier process may be in use: it is younger than guardIdle, and its
// component exists.
func (c *GuardCollector) mayBeUsed(ctx context.Context, g execute.Guard, now time.Time) bool {
	if !now.Before(g.Created.Add(guardIdle)) {
		return false
	}
	if g.Owner == (manifests.Owner{}) {
		return true
	}
	exists, err := c.Owners.Exists(ctx, g.Owner)
	return err != nil || exists
}

// remove removes a guard, unless a pass of this process uses it. It reports whether nothing is left to do.
func (c *GuardCollector) remove(ctx context.Context, g unusedGuard) (done bool) {
	if c.Applier.state.hasGuard(g.ownerID) {
		return true
	}
	result := g.client.Executor.Run(ctx, nil, []plan.Action{{
		Verb: plan.VerbUnguard, Key: plan.Guard{Name: g.name}.Key(), Reason: plan.ReasonUnguard, Owner: g.ownerID,
	}})[0]
	if f := result.Failure; f != nil {
		log.FromContext(ctx).Info("an unused guard is not removed", "guard", g.name, "cause", f.Message)
		return false
	}
	log.FromContext(ctx).Info("removed an unused guard", "guard", g.name)
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
