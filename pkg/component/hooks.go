package component

import (
	"context"
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
