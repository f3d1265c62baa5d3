package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
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
	remotes  *remotes
	inputs   *observe.References
	sources  *sources
	rendered *renderings
	backoff  *backoff
	flights  *flights
	vitals   *vitals

	// identifying is held while the cluster is asked for its identity.
	identifying sync.Mutex

	mu       sync.Mutex
	wake     func(types.NamespacedName)
	early    []types.NamespacedName
	rhythms  map[types.NamespacedName]rhythm
	prepared map[types.NamespacedName]types.UID
	// cluster is where components live, once that was asked, and presumed where each of them was taken to live without asking.
	cluster  string
	presumed map[types.NamespacedName]string
	written  map[types.NamespacedName]T
	passing  map[types.NamespacedName]bool
	suspects map[types.NamespacedName]suspects
	// recordedSets are the records of renderings that this process wrote or read.
	recordedSets map[types.NamespacedName]string
	// strays are the components that may have records which no status names, by their kinds: of renderings, or of phases.
	strays   map[types.NamespacedName]map[recordKind]bool
	contents map[types.NamespacedName]map[observe.Reference]content
	// phases are the digests of the records of phases that this process wrote.
	phases     map[types.NamespacedName]string
	belongings map[types.NamespacedName]belongings
	shelves    map[types.NamespacedName]shelf
	// leftovers are Secrets of former inventories, which are still to be deleted.
	leftovers map[types.NamespacedName][]metav1.PartialObjectMetadata
	// unnamed are Secrets of inventories, by their names, that were there at the start, and that the status of their component did not name.
	unnamed map[types.NamespacedName]map[string]metav1.PartialObjectMetadata
}

// NewReconciler returns a reconciler for components of type T, a pointer to a struct. The name is a DNS name that is unique in the
// cluster, such as mycomponent-operator.mydomain.io: it is the field owner of all writes, and the prefix of finalizer, labels and
// annotations. Two reconcilers of one name must not serve the same cluster.
func NewReconciler[T Component](name string, g generator.Generator, o Options) *Reconciler[T] {
	return &Reconciler[T]{
		name: name, generator: g, options: o.withDefaults(), clock: clock.RealClock{}, vitals: newVitals(name, o),
		backoff: newBackoff(), flights: newFlights(),
		rendered:     newRenderings(o.withDefaults().RenderedBytes),
		rhythms:      map[types.NamespacedName]rhythm{},
		prepared:     map[types.NamespacedName]types.UID{},
		presumed:     map[types.NamespacedName]string{},
		written:      map[types.NamespacedName]T{},
		passing:      map[types.NamespacedName]bool{},
		suspects:     map[types.NamespacedName]suspects{},
		recordedSets: map[types.NamespacedName]string{},
		strays:       map[types.NamespacedName]map[recordKind]bool{},
		contents:     map[types.NamespacedName]map[observe.Reference]content{},
		phases:       map[types.NamespacedName]string{},

		belongings: map[types.NamespacedName]belongings{},
		shelves:    map[types.NamespacedName]shelf{},
		leftovers:  map[types.NamespacedName][]metav1.PartialObjectMetadata{},
		unnamed:    map[types.NamespacedName]map[string]metav1.PartialObjectMetadata{},
	}
}

// Finalizer returns the finalizer that holds a component until its dependents are gone.
func (r *Reconciler[T]) Finalizer() string { return r.name + "/finalizer" }

// Reconcile is one pass over one component. It never waits: a watch event or a deadline brings the component back.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if wait := r.mayBegin(req); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	r.beginPass(req.NamespacedName)
	defer r.endPass(ctx, req.NamespacedName)
	flight := r.flights.begin(req.NamespacedName)
	defer r.flights.end(req.NamespacedName)
	component, err := r.freshest(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		return r.vanished(ctx, req), nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.flights.loaded(req.NamespacedName, component)
	r.vitals.recall(component)
	ctx, span := r.vitals.tracer.Pass(ctx, r.gvk.Kind, req.NamespacedName, component.GetGeneration())
	defer span.End()
	loaded := component.GetStatus().DeepCopy()
	outcome, err := r.pass(ctx, component)
	r.noteBelongings(component)
	released, err := r.releaseDone(ctx, component, outcome, err)
	if released {
		return reconcile.Result{}, nil
	}
	if flight.interrupted(err) {
		return r.interrupted(ctx, req, component, flight, outcome), nil
	}
	if outcome.Observing && err == nil {
		if result, inTime := r.observing(req.NamespacedName, component); inTime {
			r.vitals.passed(ctx, outcomeObserving, nil)
			return result, nil
		}
	}
	after, err := r.report(ctx, req, component, loaded, outcome, err)
	if interrupted(err) {
		return r.interrupted(ctx, req, component, flight, outcome), nil
	}
	r.flights.cameTo(req.NamespacedName, true)
	return r.ended(req.NamespacedName, after), err
}

func interrupted(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, context.Canceled) || errors.Is(err, errSuperseded)
}

// interrupted ends a pass because somebody else wrote the component in between, or the operator is stopping: the next pass starts from what is
// there then, at once where it is known that something else is wanted. What was created is remembered, and what was changed is told: no
// other pass will.
func (r *Reconciler[T]) interrupted(ctx context.Context, req reconcile.Request, component T, f *flight, o Outcome) reconcile.Result {
	r.vitals.passed(ctx, outcomeInterrupted, nil)
	r.flights.cameTo(req.NamespacedName, false)
	r.suspect(req.NamespacedName, o)
	r.tellChanges(ctx, component, o)
	if !f.isOver() {
		return r.ended(req.NamespacedName, r.backoff.When(req))
	}
	r.backoff.Forget(req)
	r.wake(req.NamespacedName)
	return r.ended(req.NamespacedName, 0)
}

// pass does what can be done now. Errors are problems to report, except for those that interrupt it.
func (r *Reconciler[T]) pass(ctx context.Context, component T) (Outcome, error) {
	if err := r.letGo(ctx, client.ObjectKeyFromObject(component), component.GetUID()); err != nil {
		return Outcome{}, err
	}
	if err := r.call(ctx, "PostRead", r.hooks.PostRead, component); err != nil {
		return Outcome{}, err
	}
	if !component.GetDeletionTimestamp().IsZero() {
		return r.delete(ctx, component)
	}
	if s, ok := any(component).(Suspender); ok && s.Suspended() {
		return Outcome{}, suspension(component, r.name)
	}
	return r.applyWithHooks(ctx, component)
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
	owner := r.forgetState(name)
	r.vitals.forget(name)
	r.backoff.Forget(reconcile.Request{NamespacedName: name})
	r.flights.cameTo(name, true)
	r.inputs.Release(name.String())
	r.forgetSource(name)
	r.disown(owner)
}

// disown ends what is watched for an owner, and drops what was rendered with its mark.
func (r *Reconciler[T]) disown(owner manifests.Owner) {
	r.rendered.drop(types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name})
	r.local.Forget(owner)
	r.unfollow(owner)
	r.leaveRemote(owner)
}

// forgetState drops what the lock guards, and returns who the owner was. What others keep of the component is released without it: they may be
// busy with a cluster that is slow to answer.
func (r *Reconciler[T]) forgetState(name types.NamespacedName) manifests.Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rhythms, name)
	delete(r.prepared, name)
	delete(r.written, name)
	delete(r.suspects, name)
	delete(r.recordedSets, name)
	delete(r.strays, name)
	delete(r.contents, name)
	delete(r.phases, name)
	delete(r.belongings, name)
	delete(r.shelves, name)
	delete(r.leftovers, name)
	delete(r.unnamed, name)
	cluster := r.clusterOf(name)
	delete(r.presumed, name)
	return r.ownerIn(cluster, name)
}
