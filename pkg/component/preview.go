package component

import (
	"context"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/transport"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Preview tells what a reconciler would do with a component, by the reconciler's own rules, and writes nothing: requests that would write are dry
// runs. An aggregated API that does not say that it supports them is not asked for any. It reads, and asks, with the rights of whoever Config belongs to, not as the identity of the component.
type Preview[T Component] struct {
	// Config leads to the cluster of the component.
	Config *rest.Config
	// Scheme knows T, and the typed objects that Generator returns.
	Scheme *runtime.Scheme
	// Name, Generator and Options are those of the reconciler. Without a generator there is only Delete.
	Name      string
	Generator generator.Generator
	Options   Options
	// Contents are referenced objects as they would be; others are read.
	Contents generator.References
}

// RefusedError says that a reconciler would do nothing, and why.
type RefusedError struct {
	// Reason is that of the component's conditions.
	Reason, Message string
	// Terminal says that it would not go away by itself.
	Terminal bool
	// Cause is the error of the generator, or whatever else is the author's, that Message tells of.
	Cause error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Message }

// Unwrap returns the cause, if there is one.
func (e *RefusedError) Unwrap() error { return e.Cause }

// Apply returns what would become of a component that need not exist as it is given, or at all. Its status counts as the record of what was
// applied. A RefusedError says that nothing would be applied.
func (p Preview[T]) Apply(ctx context.Context, component T) (Forecast, error) {
	return p.preview(ctx, component, (*previewing[T]).apply)
}

// Delete returns what a deletion of the component would do.
func (p Preview[T]) Delete(ctx context.Context, component T) (Forecast, error) {
	return p.preview(ctx, component, (*previewing[T]).delete)
}

func (p Preview[T]) preview(ctx context.Context, component T, by func(*previewing[T], context.Context) (Forecast, error)) (Forecast, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	copied, ok := component.DeepCopyObject().(T)
	if !ok {
		return Forecast{}, fmt.Errorf("a copy of %T is another type", component)
	}
	v, err := p.open(ctx, copied)
	if err != nil {
		return Forecast{}, err
	}
	forecast, err := by(v, ctx)
	return forecast, refused(err)
}

// refused makes of a problem what a caller can tell from other errors.
func refused(err error) error {
	p := condition.Of(err)
	if p == nil || condition.Interrupted(err) {
		return err
	}
	return &RefusedError{Reason: p.Reason, Message: p.Message, Terminal: p.Terminal, Cause: p.Cause}
}

// previewing is a reconciler that writes nothing, with the one component that it looks at.
type previewing[T Component] struct {
	*Reconciler[T]
	preview   Preview[T]
	component T
	wakes     chan struct{}
}

func (p Preview[T]) open(ctx context.Context, component T) (*previewing[T], error) {
	r := NewReconciler[T](p.Name, p.Generator, p.Options)
	config, err := transport.DryRunOnly(p.Config)
	if err != nil {
		return nil, err
	}
	gvk, err := apiutil.GVKForObject(component, p.Scheme)
	if err != nil {
		return nil, err
	}
	if r.local, err = NewEngine(ctx, p.Name, config, r.engineOptions()); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{
		Scheme: p.Scheme, HTTPClient: r.local.client, Mapper: r.local.discovery.Mapper(),
	})
	if err != nil {
		return nil, err
	}
	r.connect(gvk, c, c)
	r.records, r.recorder = r.newRecordStore(), mute{}
	wakes := make(chan struct{}, 1)
	r.listen(func(types.NamespacedName) {
		select {
		case wakes <- struct{}{}:
		default:
		}
	})
	v := &previewing[T]{Reconciler: r, preview: p, component: component, wakes: wakes}
	return v, v.fetch(ctx)
}

// mute tells nobody.
type mute struct{}

// Eventf implements events.EventRecorder.
func (mute) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// fetch gets the source of the component, where it has one outside the cluster.
func (v *previewing[T]) fetch(ctx context.Context) error {
	holder, ok := any(v.component).(SourceHolder)
	if !ok || holder.Source() == nil || v.options.Fetcher == nil {
		return nil
	}
	files, err := v.options.Fetcher.Fetch(ctx, *holder.Source())
	if err != nil {
		return refused(condition.FromAuthor(fmt.Errorf("fetch the source: %w", err), metav1alpha1.ReasonFetchFailed, true))
	}
	v.sources = newSources(ctx, atHand{files}, v.clock)
	return nil
}

// atHand is a fetcher that has what is wanted.
type atHand struct{ files fs.FS }

func (a atHand) Fetch(context.Context, metav1alpha1.SourceReference) (fs.FS, error) {
	return a.files, nil
}
func (a atHand) Fetched(metav1alpha1.SourceReference) (fs.FS, bool) { return a.files, true }

// apply follows Reconciler.apply, as far as that writes nothing.
func (v *previewing[T]) apply(ctx context.Context) (Forecast, error) {
	if err := validate(v.component); err != nil {
		return Forecast{}, err
	}
	in, err := v.readInputs(ctx)
	if err != nil {
		return Forecast{}, err
	}
	owner, inventory, err := v.recorded(ctx, in.target.engine)
	if err != nil {
		return Forecast{}, err
	}
	if err := checkPlacement(v.component.GetStatus(), in, len(inventory)); err != nil {
		return Forecast{}, err
	}
	rendered, desired, err := v.renderSet(ctx, v.component, owner, in, inventory)
	if err != nil {
		return Forecast{}, err
	}
	status := v.component.GetStatus()
	last := status.Revision
	if err := v.begin(status, in, rendered, inventory); err != nil {
		return Forecast{}, err
	}
	pass := v.pass(owner, inventory)
	pass.Desired, pass.Revision, pass.Rendition, pass.Managed = desired, status.Revision, status.Rendition, in.managed
	if pass.Trigger, err = triggerOf(v.component, in); err != nil {
		return Forecast{}, err
	}
	forecast, err := in.target.engine.rehearse(ctx, pass, plan.ForApply, v.wakes)
	forecast.Revision, forecast.NewRevision = status.Revision, status.Revision != last
	forecast.Suspended = components.Suspended(v.component)
	return forecast, err
}

func (v *previewing[T]) pass(owner manifests.Owner, inventory []metav1alpha1.InventoryEntry) Pass {
	name := client.ObjectKeyFromObject(v.component)
	return Pass{
		Owner: owner, Inventory: inventory, Policies: policiesOf(v.component), Now: v.clock.Now(), Wake: func() { v.wake(name) },
	}
}

// delete follows Reconciler.delete.
func (v *previewing[T]) delete(ctx context.Context) (Forecast, error) {
	t, err := v.target(ctx)
	if err != nil {
		return Forecast{}, err
	}
	owner, inventory, err := v.recorded(ctx, t.engine)
	if err != nil {
		return Forecast{}, err
	}
	if err := checkCluster(v.component.GetStatus(), t, len(inventory)); err != nil {
		return Forecast{}, err
	}
	pass := v.pass(owner, inventory)
	if pass.Managed, err = v.managedTypes(v.component); err != nil {
		return Forecast{}, err
	}
	if pass.PreDelete, pass.PostDelete, err = v.recallPhases(ctx, v.component, pass, t); err != nil {
		return Forecast{}, err
	}
	pass.deleting = true
	forecast, err := t.engine.rehearse(ctx, pass, plan.ForDelete, v.wakes)
	forecast.Revision, forecast.Finalizers = v.component.GetStatus().Revision, components.OtherFinalizers(v.component, v.Finalizer())
	return forecast, err
}

// recorded returns who owns the dependents, and their record.
func (v *previewing[T]) recorded(ctx context.Context, e *Engine) (manifests.Owner, []metav1alpha1.InventoryEntry, error) {
	owner, err := v.owners.Of(ctx, v.component)
	if apierrors.IsForbidden(err) {
		// It is only asked for a component that nobody has worked on. What that owns there is nothing.
		owner, err = v.owners.In("", client.ObjectKeyFromObject(v.component)), nil
	}
	if err != nil {
		return owner, nil, err
	}
	inventory, _, err := v.knownInventory(ctx, v.component, owner, e)
	return owner, inventory, err
}
