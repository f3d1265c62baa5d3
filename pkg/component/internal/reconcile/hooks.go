package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxHook is the timeout of one call of a hook. A running hook occupies one of the reconciler's workers.
const maxHook = 30 * time.Second

// call calls the hook that is registered for a point of the pass, if there is one.
func (p *Pass) call(ctx context.Context, point Point, c *Component) error {
	hook := p.Author.Hook(point)
	if hook == nil {
		return nil
	}
	err := p.bounded(ctx, hook, c)
	if err == nil || condition.Interrupted(err) {
		return err
	}
	failure := condition.FromAuthor(fmt.Errorf("hook %s: %w", point, err), metav1alpha1.ReasonHookFailed, false)
	if !failure.Terminal && c.IsDeleted() {
		failure.State = metav1alpha1.StateDeleting
	}
	return failure
}

// bounded calls a hook with a timeout. If the hook panics, bounded returns a terminal error.
func (p *Pass) bounded(ctx context.Context, hook Hook, c *Component) (err error) {
	bound, cancel := context.WithTimeout(ctx, maxHook)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the hook panicked: %v", cause)
			log.FromContext(ctx).Error(err, "recovered", "stack", string(debug.Stack()))
			err = reconcile.TerminalError(err)
		}
	}()
	err = hook(bound, c.Object, dependents{p, c})
	if err != nil && ctx.Err() == nil && errors.Is(bound.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %s: %w", maxHook, err)
	}
	return err
}

// preDelete calls the hook PreDelete, unless an earlier call for this component has succeeded.
func (p *Pass) preDelete(ctx context.Context, c *Component) error {
	if c.Memory.prepared == c.GetUID() || p.Author.Hook(PreDelete) == nil {
		return nil
	}
	if err := p.call(ctx, PreDelete, c); err != nil {
		return err
	}
	c.Memory.prepared = c.GetUID()
	return nil
}

// afterDelete calls the hook PostDelete when all dependents are gone. If PreDelete has not succeeded before, for
// example because the component never had dependents, afterDelete calls PreDelete first.
func (p *Pass) afterDelete(ctx context.Context, c *Component) error {
	if err := p.preDelete(ctx, c); err != nil {
		return err
	}
	return p.call(ctx, PostDelete, c)
}

// dependents reads the dependents of a component for a hook.
type dependents struct {
	pass      *Pass
	component *Component
}

// Get implements DependentReader.
func (d dependents) Get(ctx context.Context, key manifests.Key) (*unstructured.Unstructured, error) {
	owner, err := d.pass.Owners.Of(ctx, d.component.Object)
	if err != nil {
		return nil, err
	}
	entries, err := d.pass.Inventory.Recorded(ctx, d.component, owner)
	if err != nil {
		return nil, err
	}
	entry, recorded := plan.NewInventory(entries)[key]
	if !recorded {
		return nil, applier.NotDependent(key)
	}
	// The declared values are read again here, because a hook may have changed the component. The hook PostRead even
	// runs before the pass reads these values for the first time.
	current := *d.component
	current.Declared = d.pass.Author.Declare(current.Object)
	_, t, err := d.pass.acquire(ctx, &current)
	if errors.Is(err, condition.ErrObserving) {
		return nil, fmt.Errorf("read %s: the kubeconfig was not read yet", key)
	}
	if err != nil {
		return nil, err
	}
	obj, err := applier.ReadDependent(ctx, t.Client, key, entry.Version)
	if err == nil && obj.GetAnnotations()[d.pass.Reconciler+"/"+manifests.AnnotationOwnerID] != owner.String() {
		return nil, applier.NotDependent(key)
	}
	return obj, err
}
