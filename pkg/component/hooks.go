package component

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
)

// Hook is an author's code at a certain point of a pass. It holds up a worker, so it must not wait: it has 30 seconds, which its context says.
// It is called again and again, and must do nothing where everything is as it should be.
//
// An error ends the pass. It goes away by itself, and is retried within seconds, unless it is a reconcile.TerminalError, which makes the
// component Stalled with reason HookFailed; RetryAfter sets the delay. A panic is such a terminal error.
type Hook[T Component] func(ctx context.Context, component T, dependents DependentReader) error

// Hooks are called in the passes over a component. All are optional.
//
// What a hook changes in the component is seen by the rest of the pass, and is not persisted; UpdateStatus persists what belongs to the
// author in the status.
type Hooks[T Component] struct {
	// PostRead is called first in every pass, also when the component is suspended or being deleted. It may fill in defaults.
	PostRead Hook[T]
	// PreReconcile is called in every pass over a component that is neither suspended nor being deleted, before anything is read from it or
	// written. Where there are hooks of the deletion, our finalizer is there by then.
	PreReconcile Hook[T]
	// PostReconcile is called at the end of each such pass that found all dependents applied and ready, and nothing left to prune; the component
	// becomes Ready when it succeeds.
	PostReconcile Hook[T]
	// PreDelete is called when the deletion may begin, before the first dependent is deleted: finalizers of others are gone by then, and so
	// are foreign instances. While it fails nothing is deleted. Once it has succeeded it is not called again, unless the operator is
	// restarted in the middle of the deletion.
	PreDelete Hook[T]
	// PostDelete is called when all dependents are gone. While it fails the component stays. It may be called again after it succeeded,
	// where the finalizer could not be removed.
	PostDelete Hook[T]
}

// WithHooks sets the hooks; it is called before SetupWithManager. It returns the reconciler.
func (r *Reconciler[T]) WithHooks(h Hooks[T]) *Reconciler[T] {
	r.hooks = h
	return r
}

// call runs a hook, if there is one.
func (r *Reconciler[T]) call(ctx context.Context, name string, hook Hook[T], component T) error {
	if hook == nil {
		return nil
	}
	err := r.callHook(ctx, hook, component)
	if err == nil || condition.Interrupted(err) {
		return err
	}
	p := condition.FromAuthor(fmt.Errorf("hook %s: %w", name, err), metav1alpha1.ReasonHookFailed, false)
	if !p.Terminal && !component.GetDeletionTimestamp().IsZero() {
		p.State = metav1alpha1.StateDeleting
	}
	return p
}

// maxHook is how long a hook may take: it holds up a worker.
const maxHook = 30 * time.Second

// callHook calls a hook in bounds: in time, if it honours its context, and without taking the operator down when it panics.
func (r *Reconciler[T]) callHook(ctx context.Context, hook Hook[T], component T) (err error) {
	bound, cancel := context.WithTimeout(ctx, maxHook)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = reconcile.TerminalError(panicked(ctx, "the hook", cause))
		}
	}()
	err = hook(bound, component, dependents[T]{r, component})
	if err != nil && ctx.Err() == nil && errors.Is(bound.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %s: %w", maxHook, err)
	}
	return err
}

// panicked logs where an author's code panicked, and returns the error that this is.
func panicked(ctx context.Context, what string, cause any) error {
	err := fmt.Errorf("%s panicked: %v", what, cause)
	log.FromContext(ctx).Error(err, "recovered", "stack", string(debug.Stack()))
	return err
}

// applyWithHooks applies between the hooks that belong to it.
func (r *Reconciler[T]) applyWithHooks(ctx context.Context, component T) (outcome.Outcome, error) {
	if r.hooks.PreDelete != nil || r.hooks.PostDelete != nil {
		if err := r.holdEarly(ctx, component); err != nil {
			return outcome.Outcome{}, err
		}
	}
	if err := r.call(ctx, "PreReconcile", r.hooks.PreReconcile, component); err != nil {
		return outcome.Outcome{}, err
	}
	result, err := r.apply(ctx, component)
	if err == nil && result.Done() {
		err = r.call(ctx, "PostReconcile", r.hooks.PostReconcile, component)
	}
	return result, err
}

// holdEarly adds our finalizer before there are dependents, so that what a hook makes is taken back by another.
func (r *Reconciler[T]) holdEarly(ctx context.Context, component T) error {
	if controllerutil.ContainsFinalizer(component, r.Finalizer()) {
		return nil
	}
	if status := component.GetStatus(); status.Revision == 0 {
		// So that a status without record is not taken for one that was lost.
		status.Reconciler = r.name
	}
	return r.components.AddFinalizer(ctx, component)
}

// deleteWithHooks deletes between the hooks that belong to it.
func (r *Reconciler[T]) deleteWithHooks(ctx context.Context, component T, e *Engine, p Pass) (outcome.Outcome, error) {
	p.Before = func(ctx context.Context) error { return r.preDelete(ctx, component) }
	result, err := e.delete(ctx, p)
	r.suspect(client.ObjectKeyFromObject(component), e, result)
	if err != nil || !result.Done() {
		return result, err
	}
	return r.deleted(ctx, component, result)
}

// deleted calls the hooks of a deletion that come when there are no dependents left.
func (r *Reconciler[T]) deleted(ctx context.Context, component T, result outcome.Outcome) (outcome.Outcome, error) {
	if err := r.preDelete(ctx, component); err != nil {
		return result, err
	}
	return result, r.call(ctx, "PostDelete", r.hooks.PostDelete, component)
}

// preDelete calls the hook until it has succeeded.
func (r *Reconciler[T]) preDelete(ctx context.Context, component T) error {
	name := client.ObjectKeyFromObject(component)
	if r.prepared.of(name) == component.GetUID() || r.hooks.PreDelete == nil {
		return nil
	}
	if err := r.call(ctx, "PreDelete", r.hooks.PreDelete, component); err != nil {
		return err
	}
	r.prepared.enter(name, component.GetUID())
	return nil
}
