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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
)

// Annotations of a component, each with the reconciler's prefix. None is an input.
const (
	// AnnotationReconcileRequested starts a pass whenever its value changes.
	AnnotationReconcileRequested = "reconcile-requested-at"
	// AnnotationReconcileAcknowledge with the value of the request asks for an answer: the pass enters the value into the status, as
	// lastHandledReconcileAt. That is a write, which a request without it does not cause.
	AnnotationReconcileAcknowledge = "reconcile-acknowledge"
	// AnnotationSuspendReason says why a component is suspended; its conditions repeat it.
	AnnotationSuspendReason = "suspend-reason"
)

// SetupWithManager registers the reconciler with a manager, whose cluster is the target.
func (r *Reconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	if errs := validation.IsDNS1123Subdomain(r.name); len(errs) > 0 {
		return fmt.Errorf("reconciler name %q: %s", r.name, strings.Join(errs, "; "))
	}
	if _, err := incidentals(r.options.Incidental); err != nil {
		return err
	}
	if err := r.options.Observe.Check(r.options.ObserveNamespaces); err != nil {
		return fmt.Errorf("Options.Observe and ObserveNamespaces: %w", err)
	}
	prototype, err := newComponent[T]()
	if err != nil {
		return err
	}
	gvk, err := apiutil.GVKForObject(prototype, mgr.GetScheme())
	if err != nil {
		return err
	}
	r.connect(gvk, mgr.GetClient(), mgr.GetAPIReader())
	r.recorder = mgr.GetEventRecorder(r.name)
	return r.build(mgr, prototype)
}

// start makes the engine when the controller starts, before its first pass; the engine's watches live as long as the controller.
func (r *Reconciler[T]) start(ctx context.Context, config *rest.Config, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	if err := r.vitals.show(ctx); err != nil {
		return err
	}
	var err error
	options := r.engineOptions()
	if r.local, err = NewEngine(ctx, r.name, config, options); err != nil {
		return err
	}
	if err := r.checkReach(); err != nil {
		return err
	}
	r.records = r.newRecordStore()
	r.remotes = newRemotes(ctx, func(ctx context.Context, kubeconfig []byte) (*Engine, error) {
		remote, err := parseKubeconfig(kubeconfig)
		if err != nil {
			return nil, err
		}
		remote.UserAgent = config.UserAgent
		return NewEngine(ctx, r.name, remote, options)
	})
	r.inputs = observe.NewReferences(ctx, r.local.metadata, r.name)
	if r.options.Fetcher != nil {
		r.sources = newSources(ctx, r.options.Fetcher, r.clock)
	}
	go r.newRecordCollector().Run(ctx)
	r.listen(func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) })
	return nil
}

func (r *Reconciler[T]) engineOptions() EngineOptions {
	return EngineOptions{
		Policies: r.options.Policies, Predecessors: r.options.Predecessors, Writers: r.options.Writers, CacheFull: r.options.CacheFull,
		Incidental: r.options.Incidental, Observe: r.options.Observe, ObserveNamespaces: r.options.ObserveNamespaces,
		TracerProvider: r.options.TracerProvider,
	}
}

func (r *Reconciler[T]) build(mgr ctrl.Manager, prototype T) error {
	start := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if err := r.passes.Watch(ctx, mgr.GetCache(), prototype); err != nil {
			return err
		}
		return r.start(ctx, mgr.GetConfig(), queue)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(r.gvk.Kind)+"."+r.name).
		For(prototype, builder.WithPredicates(r.relevant())).
		WatchesRawSource(source.TypedFunc[reconcile.Request](start)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.options.MaxConcurrentReconciles,
			SkipNameValidation:      &r.options.SkipNameValidation,
		})
	for _, w := range r.options.Watches {
		switch {
		case w.Source != nil && w.Object == nil:
			b = b.WatchesRawSource(w.Source)
		case w.Object != nil && w.Source == nil && w.Map != nil:
			b = b.Watches(w.Object, handler.EnqueueRequestsFromMapFunc(w.Map), builder.WithPredicates(w.Predicates...))
		default:
			return errors.New("Options.Watches: each needs either Source, or Object and Map")
		}
	}
	return b.Complete(r)
}

// relevant selects the changes of a component that need a pass: those of components.NeedsPass, another record in Secrets, a requested pass,
// and, by Options.WatchMetadata, other metadata.
func (r *Reconciler[T]) relevant() predicate.Predicate {
	requested := r.name + "/" + AnnotationReconcileRequested
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		r.components.DropWrite(e.ObjectNew)
		return components.NeedsPass(e.ObjectOld, e.ObjectNew, r.Finalizer()) ||
			!r.mislaid(e.ObjectOld) && r.mislaid(e.ObjectNew) ||
			e.ObjectOld.GetAnnotations()[requested] != e.ObjectNew.GetAnnotations()[requested] ||
			r.options.WatchMetadata && !sameMetadata(e.ObjectOld, e.ObjectNew)
	}}
}

// sameMetadata compares what people and controllers write into an object's metadata.
func sameMetadata(a, b client.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) && equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
