package component

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Reconciler keeps the dependents of components of type T as their generator renders them.
type Reconciler[T Component] struct {
	name      string
	generator generator.Generator
	options   Options
	hooks     Hooks[T]

	gvk      schema.GroupVersionKind
	client   client.Client
	reader   client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	local    *Engine
	records  *records.Store
	remotes  *remotes
	inputs   *observe.References
	sources  *sources
	rendered *renderings
	vitals   *vitals

	components *components.Store
	passes     *components.Passes
	owners     *components.Owners

	// mu guards how to wake components, and those that were woken before that was known.
	mu    sync.Mutex
	wake  func(types.NamespacedName)
	early []types.NamespacedName

	memory
}

// NewReconciler returns a reconciler for components of type T, a pointer to a struct. The name is a DNS name that is unique in the
// cluster, such as mycomponent-operator.mydomain.io: it is the field owner of all writes, and the prefix of finalizer, labels and
// annotations. Two reconcilers of one name must not serve the same cluster.
func NewReconciler[T Component](name string, g generator.Generator, o Options) *Reconciler[T] {
	r := &Reconciler[T]{
		name: name, generator: g, options: o.withDefaults(), clock: clock.RealClock{}, vitals: newVitals(name, o),
		rendered: newRenderings(o.withDefaults().RenderedBytes),
	}
	r.connect(schema.GroupVersionKind{}, nil, nil)
	return r
}

// connect builds what depends on the type of the components and the clients of their cluster: c reads from a cache, reader does not.
func (r *Reconciler[T]) connect(gvk schema.GroupVersionKind, c client.Client, reader client.Reader) {
	r.gvk, r.client, r.reader = gvk, c, reader
	options := components.Options{
		Name: r.name, GVK: gvk, New: func() (components.Object, error) { return newComponent[T]() }, Client: c, Reader: reader,
		Memories: &r.objects, StatusWritten: r.named, OwnerChanged: r.stopWatching,
	}
	r.owners, r.passes = components.NewOwners(options), components.NewPasses(options.Memories)
	r.components = components.NewStore(options, r.owners, r.passes)
}

// Finalizer returns the finalizer that holds a component until its dependents are gone.
func (r *Reconciler[T]) Finalizer() string { return components.Finalizer(r.name) }

// Reconcile is one pass over one component. It never waits: a watch event or a deadline brings the component back.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	schedule := r.schedules.of(req.NamespacedName)
	if wait := schedule.Begin(r.options.MinInterval, r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	pass := r.passes.Begin(req.NamespacedName)
	defer r.components.EndPass(ctx, req.NamespacedName, pass)
	component, err := r.load(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		return r.vanished(ctx, req), nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	pass.Loaded(component)
	r.vitals.recall(component)
	ctx, span := r.vitals.tracer.Pass(ctx, r.gvk.Kind, req.NamespacedName, component.GetGeneration())
	defer span.End()
	loaded := component.GetStatus().DeepCopy()
	result, err := r.pass(ctx, component)
	r.noteOwned(component)
	released, err := r.releaseDone(ctx, component, result, err)
	if released {
		return reconcile.Result{}, nil
	}
	if pass.Interrupted(err) {
		return r.interrupted(ctx, req, component, pass, result), nil
	}
	if result.Observing && err == nil {
		since := component.GetStatus().ProgressingSince
		if after, inTime := schedule.Observe(since, r.intervals(component).Timeout, r.clock.Now()); inTime {
			r.vitals.passed(ctx, outcomeObserving, nil)
			return reconcile.Result{RequeueAfter: after}, nil
		}
		if since == nil {
			component.GetStatus().ProgressingSince = new(metav1.NewTime(schedule.ObservingSince()))
		}
	}
	after, err := r.report(ctx, req, component, loaded, result, err)
	if condition.Interrupted(err) {
		return r.interrupted(ctx, req, component, pass, result), nil
	}
	pass.Finish(false)
	return r.ended(req.NamespacedName, after), err
}

// interrupted ends a pass because somebody else wrote the component in between, or the operator is stopping: the next pass starts from what is
// there then, at once where it is known that something else is wanted. What was created is remembered, and what was changed is told: no
// other pass will.
func (r *Reconciler[T]) interrupted(ctx context.Context, req reconcile.Request, component T, pass *components.Pass, o outcome.Outcome) reconcile.Result {
	r.vitals.passed(ctx, outcomeInterrupted, nil)
	pass.Finish(true)
	r.tellChanges(ctx, component, o)
	if !pass.Superseded() {
		return r.ended(req.NamespacedName, r.schedules.of(req.NamespacedName).Retry())
	}
	r.schedules.of(req.NamespacedName).ResetRetry()
	r.wake(req.NamespacedName)
	return r.ended(req.NamespacedName, 0)
}

// pass does what can be done now. Errors are problems to report, except for those that interrupt it.
func (r *Reconciler[T]) pass(ctx context.Context, component T) (outcome.Outcome, error) {
	if err := r.releaseLeft(ctx, client.ObjectKeyFromObject(component), component.GetUID()); err != nil {
		return outcome.Outcome{}, err
	}
	if err := r.call(ctx, "PostRead", r.hooks.PostRead, component); err != nil {
		return outcome.Outcome{}, err
	}
	if !component.GetDeletionTimestamp().IsZero() {
		return r.delete(ctx, component)
	}
	if components.Suspended(component) {
		return outcome.Outcome{}, status.Suspended(component.GetAnnotations()[r.name+"/"+AnnotationSuspendReason])
	}
	return r.applyWithHooks(ctx, component)
}

// ended notes the end of a pass, and returns when the next one is due.
func (r *Reconciler[T]) ended(name types.NamespacedName, after time.Duration) reconcile.Result {
	return reconcile.Result{RequeueAfter: r.schedules.of(name).End(after, r.options.MinInterval, r.clock.Now())}
}

// intervals returns the intervals of a component: its own, or those of the options.
func (r *Reconciler[T]) intervals(component T) schedule.Intervals {
	in := schedule.Intervals{Resync: r.options.ResyncInterval, Retry: r.options.RetryInterval, Timeout: r.options.Timeout}
	if c, ok := any(component).(Resyncer); ok {
		in.Resync = c.ResyncInterval()
	}
	if c, ok := any(component).(Retrier); ok && c.RetryInterval() > 0 {
		in.Retry = c.RetryInterval()
	}
	if c, ok := any(component).(Timeouter); ok {
		in.Timeout = c.Timeout()
	}
	return in
}

// load returns the newest known version of a component.
func (r *Reconciler[T]) load(ctx context.Context, name types.NamespacedName) (T, error) {
	var none T
	loaded, err := r.components.Load(ctx, name)
	if err != nil {
		return none, err
	}
	return typed[T](loaded)
}

// typed returns a component of the store as its own type.
func typed[T Component](obj components.Object) (T, error) {
	component, ok := obj.(T)
	if !ok {
		return component, fmt.Errorf("a component has the type %T", obj)
	}
	return component, nil
}

// UpdateStatus changes the author's part of a component's status, such as a value that is allocated once: all fields beside the embedded
// Status, and in that the conditions of other types than the reconciler's. It may be called from hooks and from any other code.
//
// change gets the newest known version of the component, and changes its status. The update is bound to the resource version: after a
// conflict change is called again with the version that the API server has. So change must decide by its argument in every call. An error
// of change ends the update, and is returned unchanged. If change changes nothing, no request is sent.
//
// Afterwards component has that status too, and so has the next pass, even if the cache is older.
func (r *Reconciler[T]) UpdateStatus(ctx context.Context, component T, change func(T) error) error {
	return r.components.UpdateStatus(ctx, component, func(stored components.Object) error {
		current, err := typed[T](stored)
		if err != nil {
			return err
		}
		return change(current)
	})
}

// newComponent returns an empty component.
func newComponent[T Component]() (T, error) {
	var none T
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Pointer {
		return none, fmt.Errorf("%s is no pointer to a struct", kind)
	}
	component, ok := reflect.TypeAssert[T](reflect.New(kind.Elem()))
	if !ok {
		return none, fmt.Errorf("%s is no pointer to a struct", kind)
	}
	return component, nil
}

// forget drops all that is kept in memory of a component that does not exist any more.
func (r *Reconciler[T]) forget(name types.NamespacedName) {
	owner := r.owners.Known(name)
	r.memory.forget(name)
	r.vitals.forget(name)
	r.inputs.Release(name.String())
	r.forgetSource(name)
	r.stopWatching(owner)
}

// stopWatching ends the watches for the dependents of an owner, and drops the rendering that carries its owner id.
func (r *Reconciler[T]) stopWatching(owner manifests.Owner) {
	r.rendered.drop(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	r.local.Forget(owner)
	r.unfollow(owner)
	r.leaveRemote(owner)
}

// Trigger wakes a component: it has a pass as soon as the rate limit lets it. It may be called from any goroutine, also before the
// reconciler is started; then the pass follows the start.
func (r *Reconciler[T]) Trigger(name types.NamespacedName) {
	r.mu.Lock()
	wake := r.wake
	if wake == nil {
		r.early = append(r.early, name)
	}
	r.mu.Unlock()
	if wake != nil {
		wake(name)
	}
}

// listen begins to wake components, and with those that were triggered before.
func (r *Reconciler[T]) listen(wake func(types.NamespacedName)) {
	r.mu.Lock()
	early := r.early
	r.wake, r.early = wake, nil
	r.mu.Unlock()
	for _, name := range early {
		wake(name)
	}
}
