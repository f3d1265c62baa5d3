package component

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/status"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// Reconciler applies the objects that a generator renders for components of type T, and keeps them up to date.
// Reconciler is the typed facade of package internal/reconcile, which makes the passes.
type Reconciler[T Component] struct {
	name      string
	generator generator.Generator
	options   Options
	hooks     []Hooks[T]
	// conditions are the conditions in Go that see the component.
	conditions map[string]ComponentCondition[T]
	// ignore are the parsed rules of Options.Dependents.Ignore.
	ignore []normalise.IgnoreRule

	gvk        schema.GroupVersionKind
	components *components.Store
	recorder   events.EventRecorder
	states     *reconcile.States
	triggers   triggers
	// forgetters drop what the process keeps of a component.
	forgetters reconcile.Forgetters
	// eventSources are the event sources.
	eventSources *eventsources.Set
	// quotas are the quotas of namespaces; nil if the author sets none.
	quotas *reconcile.Quotas
	// local is the connection to the cluster of the components. It is nil until the controller starts.
	local atomic.Pointer[target.Connection]
	// runner makes the passes. The runner is nil until the controller starts.
	runner *reconcile.Runner
}

// NewReconciler returns a reconciler for components of type T, a pointer to a struct. The name is a DNS name that is
// unique in the cluster, such as mycomponent-operator.mydomain.io: it is the field owner of all writes, and the prefix
// of finalizer, labels and annotations. Two reconcilers with the same name must not serve the same cluster.
func NewReconciler[T Component](name string, g generator.Generator, o Options) *Reconciler[T] {
	r := &Reconciler[T]{
		name: name, generator: g, options: o.WithDefaults(), states: &reconcile.States{}, eventSources: &eventsources.Set{},
	}
	r.forgetters.OfComponent(r.states.Forget)
	r.forgetters.OfComponent(r.eventSources.Forget)
	return r
}

// Finalizer returns the finalizer that the reconciler adds to components. The finalizer is removed when the dependents
// of a deleted component no longer exist.
func (r *Reconciler[T]) Finalizer() string { return r.options.finalizers(r.name).Own }

// WithHooks adds hooks and returns the reconciler. It may be called several times: hooks of the same kind are called in
// the order in which they were added, until one of them fails. Call WithHooks before SetupWithManager.
func (r *Reconciler[T]) WithHooks(h Hooks[T]) *Reconciler[T] {
	r.hooks = append(r.hooks, h)
	return r
}

// Reconcile makes one pass over one component. The pass never waits: a watch event or a deadline starts the next pass.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req ctrlreconcile.Request) (ctrlreconcile.Result, error) {
	after, err := r.runner.Reconcile(logging.Context(ctx), req.NamespacedName)
	return ctrlreconcile.Result{RequeueAfter: after}, err
}

// AddEventSource adds an event source, before or after the start. Its name is a DNS label that is unique in the
// reconciler. An event source can be added to one reconciler only, and only once. The returned function ends the event
// source: its values are dropped, and its watches and fetches end.
func (r *Reconciler[T]) AddEventSource(source eventsource.Source[T]) (remove func(), err error) {
	kind := func() schema.GroupKind { return r.gvk.GroupKind() }
	return source.Attach(eventsources.Reconciler[T]{Set: r.eventSources, Kind: kind})
}

// UpdateStatus changes the author's part of a component's status, such as a value that is allocated once. The author's
// part consists of all fields outside the embedded Status, and of the conditions whose types the reconciler does not
// write. UpdateStatus may be called from hooks and from any other code.
//
// change gets the newest known version of the component, and changes its status. The update is bound to the resource
// version: after a conflict change is called again with the version that the API server has. So change must read all
// values that it depends on from its argument, and not from an earlier version of the component. An error of change
// ends the update, and is returned unchanged. If change changes nothing, no request is sent.
//
// After a successful update, the argument component has the new status. The next pass also sees it, even if the cache
// is older.
func (r *Reconciler[T]) UpdateStatus(ctx context.Context, component T, change func(T) error) error {
	return r.components.UpdateStatus(ctx, component, typedChange(change))
}

// Update changes the metadata and the spec of a component, such as a field that is filled in once. Update may be called
// from hooks and from any other code.
//
// change is called as by UpdateStatus: with the newest known version, and again after a conflict. Changes of the
// status, of the reconciler's own finalizer, and of fields that only the API server sets, such as the name and the UID,
// are ignored. If change changes nothing, no request is sent. So change must leave a component alone that it has
// changed before; otherwise each pass would start another one.
//
// After a successful update, the argument component has the new metadata, and the new spec if the spec changed. The
// next pass also sees them, even if the cache is older. If the change needs a pass, exactly one pass starts, at once. A
// pass whose hook changes the spec ends after this hook, and the next pass works for the new spec.
func (r *Reconciler[T]) Update(ctx context.Context, component T, change func(T) error) error {
	return r.components.Update(ctx, component, typedChange(change))
}

// typedChange converts a function that changes a component.
func typedChange[T Component](change func(T) error) func(components.Object) error {
	return func(stored components.Object) error {
		current, err := typed[T](stored)
		if err != nil {
			return err
		}
		return change(current)
	}
}

// Trigger starts a pass over a component as soon as the rate limit permits. It also observes the externals of the
// component at once, without regard to their polls, within the limits of their accounts. Trigger may be called from any
// goroutine, also before the reconciler is started. A pass that is requested before the start is made after the start.
func (r *Reconciler[T]) Trigger(name types.NamespacedName) { r.triggers.demand(name) }

// tell creates an Event about a component, unless e is empty.
func (r *Reconciler[T]) tell(obj components.Object, e status.Event) {
	if e.Type != "" {
		r.recorder.Eventf(obj, nil, e.Type, e.Reason, "Reconcile", "%s", e.Note)
	}
}

// tellDependent creates an Event about a dependent of a component.
func (r *Reconciler[T]) tellDependent(obj components.Object, e status.DependentEvent) {
	dependent := &metav1.PartialObjectMetadata{}
	dependent.SetGroupVersionKind(schema.GroupVersionKind{
		Group: e.Dependent.Group, Version: e.Dependent.Version, Kind: e.Dependent.Kind,
	})
	dependent.Namespace, dependent.Name, dependent.UID = e.Dependent.Namespace, e.Dependent.Name, e.Dependent.UID
	r.recorder.Eventf(dependent, obj, e.Type, e.Reason, "Reconcile", "%s", e.Note)
}

// typed converts a component to the type T.
func typed[T Component](obj components.Object) (T, error) {
	component, ok := obj.(T)
	if !ok {
		return component, fmt.Errorf("a component has the type %T", obj)
	}
	return component, nil
}

// newObject returns an empty object of a pointer type.
func newObject[S client.Object]() (S, error) {
	var none S
	kind := reflect.TypeFor[S]()
	if kind.Kind() != reflect.Pointer {
		return none, fmt.Errorf("%s is not a pointer to a struct", kind)
	}
	object, ok := reflect.TypeAssert[S](reflect.New(kind.Elem()))
	if !ok {
		return none, fmt.Errorf("%s is not a pointer to a struct", kind)
	}
	return object, nil
}

// triggers starts passes over components. Calls before the start of the controller are stored, and take effect when it
// starts. The zero value is ready to use, and safe for concurrent use.
type triggers struct {
	mu      sync.Mutex
	queue   func(types.NamespacedName)
	early   []types.NamespacedName
	observe func(types.NamespacedName)
}

func (t *triggers) wake(name types.NamespacedName) {
	t.mu.Lock()
	queue := t.queue
	if queue == nil && !slices.Contains(t.early, name) {
		t.early = append(t.early, name)
	}
	t.mu.Unlock()
	if queue != nil {
		queue(name)
	}
}

// demand is wake, and observes the externals of the component. The first pass after the start observes them anyway.
func (t *triggers) demand(name types.NamespacedName) {
	t.mu.Lock()
	observe := t.observe
	t.mu.Unlock()
	if observe != nil {
		observe(name)
	}
	t.wake(name)
}

// start passes the names of the stored calls to queue, and later calls of wake pass their names to queue directly.
// observe observes the externals of a component; it may be nil.
func (t *triggers) start(queue, observe func(types.NamespacedName)) {
	t.mu.Lock()
	early := t.early
	t.queue, t.early, t.observe = queue, nil, observe
	t.mu.Unlock()
	for _, name := range early {
		queue(name)
	}
}
