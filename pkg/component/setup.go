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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/internal/logging"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Annotations of a component. The name of the reconciler is their prefix, as in <reconciler>/suspend-reason. These
// annotations are not inputs of the rendering.
const (
	// AnnotationReconcileRequested starts a pass when its value changes.
	AnnotationReconcileRequested = "reconcile-requested-at"
	// AnnotationAcceptUnknown lists API groups, separated by commas. The deletion of the component may delete definitions
	// of these groups although their instances cannot be listed, because their API does not answer or no version is
	// served. Foreign instances that can be listed still block the deletion.
	AnnotationAcceptUnknown = "accept-unknown"
	// AnnotationReconcileAcknowledge requests that the end of a requested pass is shown in the status. If its value is
	// equal to the value of AnnotationReconcileRequested, the pass writes this value to lastHandledReconcileAt in the
	// status. Without this annotation, a requested pass does not write the status unless something else changed.
	AnnotationReconcileAcknowledge = "reconcile-acknowledge"
	// AnnotationSuspendReason is the reason why a component is suspended. The conditions of the component repeat it.
	AnnotationSuspendReason = "suspend-reason"
)

// SetupWithManager registers the reconciler with a manager. The components are in the cluster of the manager. The
// dependents are in the same cluster, unless their component names a kubeconfig.
func (r *Reconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	if errs := validation.IsDNS1123Subdomain(r.name); len(errs) > 0 {
		return fmt.Errorf("reconciler name %q: %s", r.name, strings.Join(errs, "; "))
	}
	if _, err := incidentals(r.options.Incidental); err != nil {
		return err
	}
	if _, err := r.options.engine().view(r.name); err != nil {
		return fmt.Errorf("options of the reconciler: %w", err)
	}
	var err error
	if r.ignore, err = r.options.ignoreRules(r.name); err != nil {
		return err
	}
	if err := r.options.WatchScope.Check(r.options.WatchNamespaces); err != nil {
		return fmt.Errorf("Options.WatchScope and WatchNamespaces: %w", err)
	}
	prototype, err := newComponent[T]()
	if err != nil {
		return err
	}
	gvk, err := apiutil.GVKForObject(prototype, mgr.GetScheme())
	if err != nil {
		return err
	}
	r.gvk, r.recorder = gvk, mgr.GetEventRecorder(r.name)
	return r.buildController(mgr, prototype)
}

// buildController builds the controller. The connection, the runner and the garbage collection are built when the
// controller starts, before the first pass.
func (r *Reconciler[T]) buildController(mgr ctrl.Manager, prototype T) error {
	var stop func(manifests.Owner)
	store, owners, passes := r.newStore(mgr.GetClient(), mgr.GetAPIReader(), func(o manifests.Owner) { stop(o) })
	r.components, r.quotas = store, r.newQuotas(store)
	start := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		ctx = logging.Into(ctx, mgr.GetLogger())
		if err := passes.Watch(ctx, mgr.GetCache(), prototype); err != nil {
			return err
		}
		local, err := r.connect(ctx, mgr.GetConfig())
		if err != nil {
			return err
		}
		p, err := r.build(ctx, local, mgr.GetScheme(), store, owners, r.options.Fetcher)
		if err != nil {
			return err
		}
		if err := r.checkWatchScope(p.local); err != nil {
			return err
		}
		if err := p.metrics.Start(ctx); err != nil {
			return err
		}
		p.metrics.ExportMemory(ctx, p.budget)
		r.runner = r.newRunner(ctx, p, store, owners, passes, mgr.GetConfig())
		r.runner.Quotas = r.quotas
		stop = r.runner.StopServing
		collected := collectedComponents{store: store, owners: owners, memories: r.memories, wake: r.triggers.wake}
		go r.newCollector(p, collected).Run(ctx)
		guards := applier.GuardCollector{
			Applier: p.applier, Client: p.local.Own(), Owners: collected, Clock: clock.RealClock{},
			SkipSearch: r.options.WatchScope == WatchScopeNamespaces,
		}
		go guards.Run(ctx)
		r.triggers.start(func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) })
		return nil
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
			return errors.New("Options.Watches: each entry needs either Source, or Object and Map")
		}
	}
	return b.Complete(r)
}

// newCollector returns the garbage collector of Secrets that hold records of components.
func (r *Reconciler[T]) newCollector(p parts, collected collectedComponents) *records.Collector {
	namespaces := []string{""}
	if r.options.WatchScope == WatchScopeNamespaces {
		namespaces = r.options.WatchNamespaces
	}
	return &records.Collector{
		Store: p.recorded.Secrets, Namespaces: namespaces, Started: p.local.Started,
		Components: collected,
	}
}

// relevant returns a predicate that selects the updates of a component that need a pass: the changes that
// components.NeedsPass reports, a changed annotation AnnotationReconcileRequested or AnnotationAcceptUnknown, and a
// status that names inventory Secrets which this process did not write. With Options.WatchMetadata it also selects all
// other changes of the metadata, and with Options.WatchStatus changes of the author's part of the status by others. If
// a component has fewer dependents than before, the components that exceeded the quota of its namespace are tried
// again.
func (r *Reconciler[T]) relevant() predicate.Predicate {
	requested, accepted := r.name+"/"+AnnotationReconcileRequested, r.name+"/"+AnnotationAcceptUnknown
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		reported := r.options.WatchStatus && r.components.IsReported(e.ObjectOld, e.ObjectNew)
		r.components.DropWrite(e.ObjectNew)
		if countOf(e.ObjectNew) < countOf(e.ObjectOld) {
			r.quotas.Retry(e.ObjectNew.GetNamespace())
		}
		return components.NeedsPass(e.ObjectOld, e.ObjectNew, r.Finalizer()) ||
			!r.namesOther(e.ObjectOld) && r.namesOther(e.ObjectNew) ||
			e.ObjectOld.GetAnnotations()[requested] != e.ObjectNew.GetAnnotations()[requested] ||
			e.ObjectOld.GetAnnotations()[accepted] != e.ObjectNew.GetAnnotations()[accepted] ||
			reported ||
			r.options.WatchMetadata && !sameMetadata(e.ObjectOld, e.ObjectNew)
	}}
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
	memory := r.memories.Known(client.ObjectKeyFromObject(obj))
	return memory != nil && memory.Inventory.NamesOther(component.GetStatus())
}

// sameMetadata reports whether two objects have equal labels, annotations, finalizers and owner references.
func sameMetadata(a, b client.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}
