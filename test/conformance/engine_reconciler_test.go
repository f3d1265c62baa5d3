package conformance_test

import (
	"context"
	"path"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// singleSet and graphSet are the names of the sets of an engineReconciler.
const singleSet, graphSet = "single", "graph"

// engineReconciler is the reconciler of an author who does not use component.Reconciler. It applies two sets of objects
// for each gadget, one after the other: a single object, and the manifests of the gadget.
type engineReconciler struct {
	name   string
	engine *engine.Engine
	events chan event.GenericEvent

	mu sync.Mutex
	// inventories are the inventories of the sets, by their names. An author stores them.
	inventories map[string][]metav1alpha1.InventoryEntry
	// waiting are the dependents that the last pass over each set waited for.
	waiting map[string][]result.Waiting
}

func (r *engineReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g := &gadget.Gadget{}
	if err := k8s.Get(ctx, req.NamespacedName, g); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !g.DeletionTimestamp.IsZero() {
		for _, set := range []string{graphSet, singleSet} {
			if outcome, err := r.make(ctx, g, set, "", r.engine.Delete); err != nil || !outcome.Done() {
				return resultOf(outcome), err
			}
		}
		controllerutil.RemoveFinalizer(g, r.name+"/finalizer")
		return reconcile.Result{}, k8s.Update(ctx, g)
	}
	if controllerutil.AddFinalizer(g, r.name+"/finalizer") {
		if err := k8s.Update(ctx, g); err != nil {
			return reconcile.Result{}, err
		}
	}
	if outcome, err := r.make(ctx, g, singleSet, configMap("single", "x"), r.engine.Apply); err != nil || !outcome.Done() {
		return resultOf(outcome), err
	}
	outcome, err := r.make(ctx, g, graphSet, g.Spec.Manifests, r.engine.Apply)
	return resultOf(outcome), err
}

func resultOf(o result.Outcome) reconcile.Result {
	if o.NextDue.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(time.Until(o.NextDue), time.Millisecond)}
}

// make makes a pass over one set.
func (r *engineReconciler) make(
	ctx context.Context, g *gadget.Gadget, set, text string, pass func(context.Context,
		engine.Request) (result.Outcome, error),
) (result.Outcome, error) {
	owner := manifests.Owner{
		Cluster: "test", Reconciler: r.name, Kind: "Set", Namespace: g.Namespace,
		Name: g.Name + "-" + set,
	}
	decoded, err := manifests.Decode(set, []byte(text))
	if err != nil {
		return result.Outcome{}, err
	}
	desired, err := normalise.Manifests(decoded, normalise.Options{
		Reconciler: r.name, Namespace: g.Namespace, Owner: owner,
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	if err != nil {
		return result.Outcome{}, err
	}
	wake := func() {
		select {
		case r.events <- event.GenericEvent{Object: g}:
		default: // A pass is due.
		}
	}
	outcome, err := pass(ctx, engine.Request{
		Owner: owner, Desired: desired, Revision: g.Generation, Inventory: r.recorded(set), Wake: wake, Now: time.Now(),
		WriteInventory: func(_ context.Context, inventory []metav1alpha1.InventoryEntry) error {
			r.record(set, inventory, nil)
			return nil
		},
	})
	if err == nil {
		r.record(set, outcome.Inventory, outcome.Waiting)
	}
	return outcome, err
}

func (r *engineReconciler) record(set string, inventory []metav1alpha1.InventoryEntry, waiting []result.Waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inventories[set], r.waiting[set] = inventory, waiting
}

func (r *engineReconciler) recorded(set string) []metav1alpha1.InventoryEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inventories[set]
}

// waits returns the reasons why the last pass over a set waited, as "name: reason".
func (r *engineReconciler) waits(set string) (reasons []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting[set] {
		reasons = append(reasons, path.Base(w.Dependent)+": "+w.Reason)
	}
	return reasons
}

// runEngine runs a controller whose reconcile function uses an Engine.
func runEngine(name string) *engineReconciler {
	GinkgoHelper()
	config := cluster.Config()
	config.UserAgent = userAgent(name)
	scheme, err := gadget.Scheme()
	Expect(err).NotTo(HaveOccurred())
	lifetime, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	applier, err := engine.New(lifetime, name, config, engine.Options{
		Dependents: component.Dependents{Policies: metav1alpha1.Policies{Update: metav1alpha1.UpdateSSAOverride}},
	})
	Expect(err).NotTo(HaveOccurred())
	r := &engineReconciler{
		name: name, engine: applier, events: make(chan event.GenericEvent, 100),
		inventories: map[string][]metav1alpha1.InventoryEntry{}, waiting: map[string][]result.Waiting{},
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(5 * time.Second),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&gadget.Gadget{}: {Label: labels.SelectorFromSet(labels.Set{operatorLabel: name})},
		}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(builder.ControllerManagedBy(mgr).Named(name).For(&gadget.Gadget{}).
		WatchesRawSource(source.Channel(r.events, &handler.EnqueueRequestForObject{})).Complete(r)).To(Succeed())
	start(mgr)
	return r
}

var _ = Describe("The reconcile function of an author:", func() {
	It("calls engine.Engine for several sets, one of them a single object, with dependencies, conditions and observed "+
		"objects, and deletes them in reverse", func(ctx SpecContext) {
		namespace, name := newNamespace(ctx), newOperatorName()
		set := func(setting, value string) string { return settingOf(name, setting, value) }
		graph := func(phase, key string) string {
			return together(
				configMap("after", "x", set("depends-on", "ConfigMap base, ConfigMap broken?")),
				configMap("base", phase, set("ready-when", "self.data.value == 'done'")),
				configMap("below", "x", set("depends-on", "ConfigMap broken")),
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken}\ndata: {key: x}\nbinaryData: {"+key+": eA==}",
				configMap("plain", "x"),
				configMap("view", "${{ mode }}", set("bind", "true")),
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, annotations: {"+set("reconcile-policy", "observe")+", "+
					set("export", "mode=self.data.value")+"}}")
		}
		r := runEngine(name)
		g := newGadget(ctx, namespace, "app", graph("begun", "key"), servedBy(name))
		Eventually(ctx, func() []string { return r.waits(graphSet) }).Should(ConsistOf(
			"after: DependencyNotReady", "base: InProgress", "below: DependencyNotReady", "broken: Invalid", "theirs: Absent",
			"view: ExportMissing"))
		Expect(configMapExists(ctx, namespace, "single") && configMapExists(ctx, namespace, "plain")).To(BeTrue())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(3), "single, plain and base")

		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+namespace+
			"}\ndata: {value: 'on'}")
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "view") }).Should(BeTrue())
		changeManifests(ctx, g, graph("done", "other"))
		Eventually(ctx, func() bool {
			return configMapExists(ctx, namespace, "after") && configMapExists(ctx, namespace, "below") &&
				len(r.waits(graphSet)) == 0
		}).Should(BeTrue())
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "view").Object["data"]).To(Equal(map[string]any{"value": "on"}))
		Expect(r.recorded(singleSet)).To(HaveExactElements(HaveField("Name", "single")))
		Expect(r.recorded(graphSet)).To(HaveLen(6))
		writes := writesIn(ctx, 0, name, namespace)
		Expect(indexOf(writes, "update configmaps/base")).To(BeNumerically("<", indexOf(writes, "create configmaps/after")),
			"%v", writes)

		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		deletes := writesIn(ctx, mark, name, namespace)
		Expect(deletes).To(HaveLen(7))
		for _, pair := range [][2]string{
			{"configmaps/after", "configmaps/base"},
			{"configmaps/after", "configmaps/broken"},
			{"configmaps/below", "configmaps/broken"},
		} {
			Expect(indexOf(deletes, "delete "+pair[0])).To(BeNumerically("<", indexOf(deletes, "delete "+pair[1])),
				"%v", deletes)
		}
		Expect(deletes[6]).To(Equal("delete configmaps/single"), "the sets are deleted one after the other")
		Expect(configMapExists(ctx, namespace, "theirs")).To(BeTrue())
		Expect(r.recorded(graphSet)).To(BeEmpty())
	})
})
