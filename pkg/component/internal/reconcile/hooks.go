package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxHook is the timeout of one call of a hook. A running hook occupies one of the reconciler's workers.
const maxHook = 30 * time.Second

// call calls the hooks that are registered for a point of the pass, one after the other, until a hook fails.
func (p *Pass) call(ctx context.Context, point Point, c *Component) error {
	return p.callWith(ctx, point, c, Result{})
}

// callWith is call with the result of the pass.
func (p *Pass) callWith(ctx context.Context, point Point, c *Component, result Result) error {
	for _, hook := range p.Author.Hooks(point) {
		if err := p.callHook(ctx, point, hook, c, result); err != nil {
			return err
		}
	}
	return nil
}

// callHook calls a hook. The error of the hook becomes the error of the pass. If the hook changed the spec of the
// component with components.Store.Update, the error is a conflict, which ends the pass: the pass works for the previous
// spec.
func (p *Pass) callHook(ctx context.Context, point Point, hook Hook, c *Component, result Result) error {
	generation := c.GetGeneration()
	err := p.bounded(ctx, hook, c, result)
	if c.GetGeneration() != generation {
		c.SetGeneration(generation)
		return p.Store.Conflict(c.Name(), "the hook changed the component's spec")
	}
	if err == nil || passerror.Interrupted(err) {
		return err
	}
	failure := passerror.FromAuthor(fmt.Errorf("hook %s: %w", point, err), metav1alpha1.ReasonHookFailed, false)
	if !failure.Terminal && c.IsDeleted() {
		failure.State = metav1alpha1.StateDeleting
	}
	return failure
}

// bounded calls a hook with a timeout. If the hook panics, bounded returns a terminal error.
func (p *Pass) bounded(ctx context.Context, hook Hook, c *Component, result Result) (err error) {
	bound, cancel := context.WithTimeout(ctx, maxHook)
	defer cancel()
	panicked := authorcode.Run("the hook", func() { err = hook(bound, c.Object, dependents{p, c}, result) })
	if panicked != nil {
		log.FromContext(ctx).Error(panicked, "recovered", "stack", string(panicked.Stack))
		return reconcile.TerminalError(panicked)
	}
	if err != nil && ctx.Err() == nil && errors.Is(bound.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %s: %w", maxHook, err)
	}
	return err
}

// preDelete calls the hooks PreDelete, unless all of them have succeeded for this component before.
func (p *Pass) preDelete(ctx context.Context, c *Component) error {
	if c.State.prepared == c.GetUID() || len(p.Author.Hooks(PreDelete)) == 0 {
		return nil
	}
	if err := p.call(ctx, PreDelete, c); err != nil {
		return err
	}
	c.State.prepared = c.GetUID()
	return nil
}

// finish calls the hooks of the end of a pass: PostFailure if the pass or a dependent failed, and then PostPass. It
// returns the error of the pass. A hook that fails makes the pass fail; if the pass had failed already, its error has
// the message of the hook in addition.
func (p *Pass) finish(ctx context.Context, c *Component, o outcome.Outcome, failure error) error {
	if f, ok := errors.AsType[*passerror.Error](failure); ok && f.State == metav1alpha1.StateSuspended {
		return failure
	}
	result := Result{Outcome: o, Failure: failure}
	if failure == nil {
		result.Failure = failureOf(p.Owners.Known(c.Name()).Component(), c, o)
	}
	var hook error
	if result.Failure != nil {
		hook = p.callWith(ctx, PostFailure, c, result)
	}
	if hook == nil {
		hook = p.callWith(ctx, PostPass, c, result)
	}
	if hook == nil {
		return failure
	}
	return withHookError(result.Failure, hook)
}

// failureOf returns the error of a pass in which dependents failed, or nil.
func failureOf(component manifests.Key, c *Component, o outcome.Outcome) error {
	if failed, _ := o.Failures(); len(failed) == 0 {
		return nil
	}
	v := status.ResultOf(component, c.IsDeleted(), o, nil)
	return &passerror.Error{Reason: v.Reason, Message: v.Message, Terminal: v.NeedsPerson(), State: v.State}
}

// withHookError returns the error of a pass whose hook failed at its end. failure is the error of the pass before,
// which may be nil.
func withHookError(failure, hook error) error {
	if failure == nil || passerror.Interrupted(hook) {
		return hook
	}
	both := *passerror.Of(failure)
	both.Message += "; " + passerror.Of(hook).Message
	return &both
}

// afterDelete calls the hooks PostDelete when no dependent exists any more. If PreDelete has not succeeded before, for
// example because the component never had dependents, afterDelete calls PreDelete first.
func (p *Pass) afterDelete(ctx context.Context, c *Component) error {
	if err := p.preDelete(ctx, c); err != nil {
		return err
	}
	return p.call(ctx, PostDelete, c)
}
