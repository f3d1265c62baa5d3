package component

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/dependencies"
	enginereconcile "github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
)

// SetupWithManager registers the reconciler with a manager. The components are in the cluster of the manager. The
// dependents are in the same cluster, unless their component names a kubeconfig.
func (r *Reconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	return r.SetupWithManagerAndBuilder(mgr, func(b *builder.Builder) *builder.Builder { return b })
}

// SetupWithManagerAndBuilder is SetupWithManager with a function that may add watches and options to the builder of the
// controller. The builder already has the components, the reconciler's own event sources, Options.Watching.Watches and
// the controller options. WithOptions replaces the controller options; the number of workers must be that of
// Options.Limits.MaxConcurrentReconciles, and Reconciler must not be set. WithEventFilter also filters the watch events
// of components: a filter that drops changes of the spec, of the deletion timestamp or of finalizers makes passes late.
func (r *Reconciler[T]) SetupWithManagerAndBuilder(
	mgr ctrl.Manager, extend func(*builder.Builder) *builder.Builder,
) error {
	if errs := validation.IsDNS1123Subdomain(r.name); len(errs) > 0 {
		return fmt.Errorf("reconciler name %q: %s", r.name, strings.Join(errs, "; "))
	}
	if _, err := incidentals(r.options.Dependents.Incidental); err != nil {
		return err
	}
	if _, err := r.options.view(r.name); err != nil {
		return fmt.Errorf("options of the reconciler: %w", err)
	}
	var err error
	if r.ignore, err = r.options.ignoreRules(r.name); err != nil {
		return err
	}
	if err := external.Validate(r.options.Externals...); err != nil {
		return fmt.Errorf("Options.Externals: %w", err)
	}
	if err := r.options.checkNames(r.name); err != nil {
		return err
	}
	if err := r.options.Watching.Scope.Check(r.options.Watching.Namespaces); err != nil {
		return fmt.Errorf("Options.Watching: %w", err)
	}
	prototype, err := newObject[T]()
	if err != nil {
		return err
	}
	gvk, err := apiutil.GVKForObject(prototype, mgr.GetScheme())
	if err != nil {
		return err
	}
	r.gvk, r.recorder = gvk, mgr.GetEventRecorder(r.name)
	if err := r.eventSources.Prepare(mgr.GetScheme()); err != nil {
		return err
	}
	return r.buildController(mgr, prototype, extend)
}

// buildController builds the controller. The connection, the runner and the garbage collection are built by start when
// the controller starts, before the first pass.
func (r *Reconciler[T]) buildController(
	mgr ctrl.Manager, prototype T, extend func(*builder.Builder) *builder.Builder,
) error {
	started := make(chan *enginereconcile.Externals, 1)
	stores := r.newStores(mgr.GetClient(), mgr.GetAPIReader())
	stores.dependencies = &enginereconcile.Dependencies{
		Graph: dependencies.New(r.triggers.wake), Author: r.author(), Store: stores.store,
		Finalizers: r.options.finalizers(r.name),
	}
	r.forgetters.OfComponent(stores.dependencies.Graph.Forget)
	r.components, r.quotas = stores.store, r.newQuotas(stores.store)
	r.forgetters.OfComponent(r.quotas.Release)
	start := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return r.start(ctx, mgr, prototype, stores, queue, started)
	}
	// The calls for externals that are under way when the manager stops are completed, and their results stored.
	if err := mgr.Add(waitForCalls(started)); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(r.gvk.Kind)+"."+r.name).
		For(prototype, builder.WithPredicates(r.relevant())).
		WatchesRawSource(source.TypedFunc[reconcile.Request](start)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.options.Limits.MaxConcurrentReconciles,
			SkipNameValidation:      &r.options.SkipNameValidation,
		})
	b, err := r.addWatches(b)
	if err != nil {
		return err
	}
	if b = extend(b); b == nil {
		return errors.New("SetupWithManagerAndBuilder: the function returned no builder; return the builder that it gets")
	}
	return b.Complete(r)
}

// addWatches adds the watches of Options.Watching to the builder of the controller.
func (r *Reconciler[T]) addWatches(b *builder.Builder) (*builder.Builder, error) {
	for _, w := range r.options.Watching.Watches {
		switch {
		case w.Source != nil && w.Object == nil:
			b = b.WatchesRawSource(w.Source)
		case w.Object != nil && w.Source == nil && w.Map != nil:
			b = b.Watches(w.Object, handler.EnqueueRequestsFromMapFunc(w.Map), builder.WithPredicates(w.Predicates...))
		default:
			return nil, errors.New("Options.Watching.Watches: each entry needs either Source, or Object and Map")
		}
	}
	return b, nil
}

// start builds the runner and starts all parts that work beside the passes, until ctx ends. It is called once, when the
// controller starts, and no pass begins before it returns. queue is the queue of the controller; started gets the calls
// for externals, so that they can be awaited at the end. The triggers start last, because they begin passes.
func (r *Reconciler[T]) start(
	ctx context.Context, mgr ctrl.Manager, prototype T, stores stores,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request], started chan<- *enginereconcile.Externals,
) error {
	ctx = logging.Into(ctx, mgr.GetLogger())
	if err := stores.passes.Watch(ctx, mgr.GetCache(), prototype, stores.dependencies); err != nil {
		return err
	}
	local, err := r.connect(ctx, mgr.GetConfig())
	if err != nil {
		return err
	}
	local.Operator = target.OperatorOf(mgr.GetConfig())
	p, err := r.build(ctx, local, mgr.GetScheme(), stores, r.options.Fetcher)
	if err != nil {
		return err
	}
	if err := r.checkWatchScope(p.local); err != nil {
		return err
	}
	if err := p.metrics.Start(ctx); err != nil {
		return err
	}
	p.metrics.ExportBudget(ctx, p.budget)
	r.runner = r.newRunner(p, r.newPorts(ctx, p, mgr.GetConfig().UserAgent))
	started <- r.runner.Externals
	collected := collectedComponents{stores: stores, states: r.states, wake: r.triggers.wake}
	go r.newCollector(p, collected).Run(ctx)
	guards := applier.GuardCollector{
		Applier: p.applier, Client: p.local.Own(), Owners: collected, Clock: clock.RealClock{},
		SkipSearch: r.options.Watching.Scope == WatchScopeNamespaces,
	}
	go guards.Run(ctx)
	r.local.Store(p.local)
	go r.options.Limits.IdleInventory.kept().Run(ctx, r.states.DropIdleInventories)
	r.eventSources.Start(ctx, r.eventSourceHost(p))
	context.AfterFunc(ctx, r.options.monitor(r.name).ExportEventSources(r.eventSources))
	r.triggers.start(
		func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) },
		func(name types.NamespacedName) { r.runner.Externals.Demand(stores.owners.Known(name)) })
	return nil
}

// waitForCalls returns a runnable that ends when the manager stops, after the calls for externals have ended.
func waitForCalls(started <-chan *enginereconcile.Externals) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		select {
		case calls := <-started:
			calls.Wait()
		default:
		}
		return nil
	})
}

// newCollector returns the garbage collector of Secrets that hold records of components.
func (r *Reconciler[T]) newCollector(p parts, collected collectedComponents) *records.Collector {
	namespaces := []string{""}
	if r.options.Watching.Scope == WatchScopeNamespaces {
		namespaces = r.options.Watching.Namespaces
	}
	return &records.Collector{
		Store: p.secrets, Namespaces: namespaces, Started: p.local.Started,
		Components: collected,
	}
}

// relevant returns a predicate that selects the updates of a component that need a pass; see needsPass. With
// Options.Watching.Status it also selects changes of the author's part of the status by others. The watch event of a
// write by Reconciler.Update is not selected, because the write has started the pass. If a component has fewer
// dependents than before, the components that exceeded the quota of its namespace are tried again.
func (r *Reconciler[T]) relevant() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		reported := r.options.Watching.Status && r.components.IsReported(e.ObjectOld, e.ObjectNew)
		r.components.DropWrite(e.ObjectNew)
		if countOf(e.ObjectNew) < countOf(e.ObjectOld) {
			r.quotas.Retry(e.ObjectNew.GetNamespace())
		}
		return (reported || r.needsPass(e.ObjectOld, e.ObjectNew)) && !r.components.HoldBack(e.ObjectNew)
	}}
}

// needsPass reports whether a change of a component needs a pass: the changes that components.NeedsPass reports, a
// changed annotation metav1alpha1.AnnotationReconcileRequested or metav1alpha1.AnnotationAcceptUnknown, and a status
// that names inventory Secrets which this process did not write, or whose record another client wrote. With
// Options.Watching.Metadata, all other changes of the metadata also need a pass.
func (r *Reconciler[T]) needsPass(before, after client.Object) bool {
	requested := r.name + "/" + metav1alpha1.AnnotationReconcileRequested
	accepted := r.name + "/" + metav1alpha1.AnnotationAcceptUnknown
	resolved := r.name + "/" + metav1alpha1.AnnotationResolveExternal
	return components.NeedsPass(before, after, r.options.finalizers(r.name)) ||
		!r.namesOther(before) && r.namesOther(after) ||
		r.components.IsDoubted(after) && (!r.components.IsDoubted(before) || components.BecomesReady(before, after)) ||
		before.GetAnnotations()[requested] != after.GetAnnotations()[requested] ||
		before.GetAnnotations()[accepted] != after.GetAnnotations()[accepted] ||
		before.GetAnnotations()[resolved] != after.GetAnnotations()[resolved] ||
		r.options.Watching.Metadata && !sameMetadata(before, after)
}

// countOf returns the number of recorded dependents of a component.
func countOf(obj client.Object) int32 {
	if component, ok := obj.(components.Object); ok {
		return component.GetStatus().Dependents.Total
	}
	return 0
}

// namesOther reports whether the status of a component names inventory Secrets that this process neither wrote nor
// read.
func (r *Reconciler[T]) namesOther(obj client.Object) bool {
	component, ok := obj.(components.Object)
	if !ok {
		return false
	}
	state := r.states.Known(client.ObjectKeyFromObject(obj))
	return state != nil && state.Inventory.NamesOther(component.GetStatus())
}

// sameMetadata reports whether two objects have equal labels, annotations, finalizers and owner references.
func sameMetadata(a, b client.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
