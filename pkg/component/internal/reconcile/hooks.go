package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
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
// component with components.Store.Update, the error is a conflict, which ends the pass: the pass works for the former
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
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the hook panicked: %v", cause)
			log.FromContext(ctx).Error(err, "recovered", "stack", string(debug.Stack()))
			err = reconcile.TerminalError(err)
		}
	}()
	err = hook(bound, c.Object, dependents{p, c}, result)
	if err != nil && ctx.Err() == nil && errors.Is(bound.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it took longer than %s: %w", maxHook, err)
	}
	return err
}

// preDelete calls the hooks PreDelete, unless all of them have succeeded for this component before.
func (p *Pass) preDelete(ctx context.Context, c *Component) error {
	if c.Memory.prepared == c.GetUID() || len(p.Author.Hooks(PreDelete)) == 0 {
		return nil
	}
	if err := p.call(ctx, PreDelete, c); err != nil {
		return err
	}
	c.Memory.prepared = c.GetUID()
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
		result.Failure = failureOf(c, o)
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
func failureOf(c *Component, o outcome.Outcome) error {
	if failed, _ := o.Failures(); len(failed) == 0 {
		return nil
	}
	v := status.Judge(c.IsDeleted(), o, nil)
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

// afterDelete calls the hooks PostDelete when all dependents are gone. If PreDelete has not succeeded before, for
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
	owner, recorded, err := d.recorded(ctx)
	if err != nil {
		return nil, err
	}
	entry, found := recorded[key]
	if !found {
		return nil, applier.NotDependent(key)
	}
	if key.IsExternal() {
		return d.pass.Externals.get(owner, key)
	}
	client, err := d.client(ctx, key.String())
	if err != nil {
		return nil, err
	}
	return d.read(ctx, client, owner, key, entry.Version)
}

// List implements DependentReader.
func (d dependents) List(ctx context.Context, kind schema.GroupKind) ([]*unstructured.Unstructured, error) {
	owner, recorded, err := d.recorded(ctx)
	if err != nil {
		return nil, err
	}
	var keys []manifests.Key
	for key := range recorded {
		if key.GroupKind() == kind {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	slices.SortFunc(keys, func(a, b manifests.Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	client, err := d.client(ctx, kind.String())
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, key := range keys {
		obj, err := d.read(ctx, client, owner, key, recorded[key].Version)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

// Desired implements DependentReader.
func (d dependents) Desired(key manifests.Key) (*unstructured.Unstructured, error) {
	if !d.component.isRendered {
		return nil, fmt.Errorf("the manifest of %s: this pass has rendered nothing", key)
	}
	for _, o := range d.component.rendered {
		if o.Key != key {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		return whole.Body.DeepCopy(), nil
	}
	return nil, applier.NotDependent(key)
}

// recorded returns the owner id of the component and its recorded dependents.
func (d dependents) recorded(ctx context.Context) (manifests.Owner, plan.Inventory, error) {
	owner, err := d.pass.Owners.Of(ctx, d.component.Object)
	if err != nil {
		return owner, nil, err
	}
	entries, err := d.pass.Inventory.Recorded(ctx, d.component, owner)
	return owner, plan.NewInventory(entries), err
}

// client returns the client for the target of the component. what names the objects to read, for errors.
func (d dependents) client(ctx context.Context, what string) (*target.Client, error) {
	// The declared values are read again here, because a hook may have changed the component. The hook PostRead even
	// runs before the pass reads these values for the first time.
	current := *d.component
	current.Declared = d.pass.Author.Declare(current.Object)
	_, t, err := d.pass.acquire(ctx, &current)
	if errors.Is(err, passerror.ErrObserving) {
		return nil, fmt.Errorf("read %s: the kubeconfig was not read yet", what)
	}
	return t.Client, err
}

// read reads an object. The error is NotFound if it is no dependent any more.
func (d dependents) read(
	ctx context.Context, client *target.Client, owner manifests.Owner, key manifests.Key, version string,
) (*unstructured.Unstructured, error) {
	obj, err := applier.ReadDependent(ctx, client, key, version)
	if err == nil && obj.GetAnnotations()[d.pass.Reconciler+"/"+manifests.AnnotationOwnerID] != owner.String() {
		return nil, applier.NotDependent(key)
	}
	return obj, err
}
