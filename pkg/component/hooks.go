package component

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Hook is a function of the operator's author that is called at a certain point of a pass. A hook occupies one of the
// reconciler's workers, so it must not wait. The context of a hook ends after 30 seconds. A hook is called in many
// passes, so it must be idempotent.
//
// An error ends the pass. By default the error is treated as temporary, and the hook is called again within seconds;
// RetryAfter sets another delay. A reconcile.TerminalError makes the component Stalled with reason HookFailed. A panic
// is treated as a terminal error.
type Hook[T Component] func(ctx context.Context, component T, dependents DependentReader) error

// Hooks are functions that are called in the passes over a component. Each hook may be nil.
//
// Changes that a hook makes to the component are visible in the rest of the pass, but are not persisted. A hook that
// has to persist the author's part of the status calls Reconciler.UpdateStatus.
type Hooks[T Component] struct {
	// PostRead is called first in every pass, also when the component is suspended or being deleted. PostRead may fill
	// in defaults.
	PostRead Hook[T]
	// PreReconcile is called in every pass over a component that is neither suspended nor being deleted, before the
	// pass reads the spec of the component and before the pass writes anything. If there are deletion hooks, the
	// component already has the reconciler's finalizer.
	PreReconcile Hook[T]
	// PostReconcile is called at the end of each pass over a component that is neither suspended nor being deleted, if
	// all dependents are applied and ready, and no object is left to be pruned. The component becomes Ready when the
	// hook succeeds.
	PostReconcile Hook[T]
	// PreDelete is called before the first dependent is deleted. PreDelete is not called while the component has
	// finalizers of other controllers, or while foreign instances block the deletion. As long as the hook fails,
	// nothing is deleted. After the hook has succeeded, it is called again only if the operator is restarted during the
	// deletion.
	PreDelete Hook[T]
	// PostDelete is called when all dependents are gone. As long as the hook fails, the component is not removed. The
	// hook may be called again after it succeeded, if the finalizer could not be removed from the component.
	PostDelete Hook[T]
}

// DependentReader reads the dependents of one component.
type DependentReader interface {
	// Get reads a live dependent from the target, as the component's identity. Objects of the kinds in
	// Options.CacheFull are read from the cache, without a request. The error is IsNotFound if the object does not
	// exist or is not a dependent of the component. The caller may change the returned object.
	Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error)
}
