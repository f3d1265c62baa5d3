package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Hook is an author's code at a certain point of a pass. It occupies a worker, so it must not wait: its context ends
// after 30 seconds. It is called repeatedly, and must change nothing if there is nothing to do.
//
// An error ends the pass. It counts as temporary and is retried within seconds; RetryAfter sets the delay. A
// reconcile.TerminalError makes the component Stalled with reason HookFailed. A panic counts as a terminal error.
type Hook[T Component] func(ctx context.Context, component T, dependents DependentReader) error

// Hooks are called in the passes over a component. All are optional.
//
// The rest of the pass sees changes that a hook makes to the component, but they are not persisted. UpdateStatus
// persists the author's part of the status.
type Hooks[T Component] struct {
	// PostRead is called first in every pass, also when the component is suspended or being deleted. It may fill in
	// defaults.
	PostRead Hook[T]
	// PreReconcile is called in every pass over a component that is neither suspended nor being deleted, before the
	// pass reads the component or writes. If there are deletion hooks, the component already has the reconciler's
	// finalizer.
	PreReconcile Hook[T]
	// PostReconcile is called at the end of each such pass if all dependents are applied and ready, and no prune is
	// left. The component becomes Ready when the hook succeeds.
	PostReconcile Hook[T]
	// PreDelete is called before the first dependent is deleted, when no foreign finalizers and no foreign instances
	// are left. While it fails, nothing is deleted. After it has succeeded it is called again only if the operator is
	// restarted during the deletion.
	PreDelete Hook[T]
	// PostDelete is called when all dependents are gone. While it fails, the component stays. It may be called again
	// after it succeeded, if the finalizer could not be removed.
	PostDelete Hook[T]
}

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a live dependent from the target, as the component's identity. Objects of the kinds in
	// Options.CacheFull come from the watch, without a request. The error is IsNotFound if the object does not exist or
	// is not a dependent of the component. The caller may change the returned object.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}
