package conformance_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/engine"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// ring contains an engine, the set of objects that the engine applies, and the clock of the engine's passes. The spec
// decides when the engine makes a pass.
type ring struct {
	engine *engine.Engine
	name   string
	pass   engine.Request
	// wakes counts the passes that the engine requested.
	wakes atomic.Int64
}

func newRing(ctx context.Context, namespace, text string, policies metav1alpha1.Policies) *ring {
	GinkgoHelper()
	r := &ring{name: newOperatorName()}
	lifetime, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	config := rest.CopyConfig(cluster.Config())
	config.UserAgent = userAgent(r.name)
	var err error
	r.engine, err = engine.New(lifetime, r.name, config, engine.Options{
		Dependents: component.Dependents{Policies: policies},
	})
	Expect(err).NotTo(HaveOccurred())
	r.pass = engine.Request{
		Owner:    manifests.Owner{Cluster: "test", Reconciler: r.name, Kind: "Set", Namespace: namespace, Name: "one"},
		Revision: 1, Now: time.Unix(1_000_000, 0),
		WriteInventory: func(context.Context, []metav1alpha1.InventoryEntry) error { return nil },
		Wake:           func() { r.wakes.Add(1) },
	}
	r.render(namespace, text)
	r.run(ctx)
	return r
}

// render replaces the set by the manifests in text.
func (r *ring) render(namespace, text string) {
	GinkgoHelper()
	decoded, err := manifests.Decode("set", []byte(text))
	Expect(err).NotTo(HaveOccurred())
	r.pass.Desired, err = normalise.Manifests(decoded, normalise.Options{
		Reconciler: r.name, Namespace: namespace, Owner: r.pass.Owner,
		ScopeOf: func(schema.GroupVersionKind) (manifests.Scope, error) { return manifests.ScopeNamespaced, nil },
	})
	Expect(err).NotTo(HaveOccurred())
}

// run makes a pass. It waits until the watches have delivered the objects.
func (r *ring) run(ctx context.Context) result.Outcome {
	GinkgoHelper()
	var o result.Outcome
	Eventually(ctx, func() (bool, error) {
		var err error
		o, err = r.engine.Apply(ctx, r.pass)
		return o.Observing, err
	}).Should(BeFalse())
	r.pass.Inventory = o.Inventory
	return o
}

// undone calls write, which undoes a repair, and waits until the watches have delivered this write. Then it makes
// passes until their outcome is as wanted.
func (r *ring) undone(ctx context.Context, write func(), wanted func(result.Outcome) bool) result.Outcome {
	GinkgoHelper()
	write()
	Eventually(ctx, func() (bool, error) { return r.finds(ctx) }).Should(BeTrue(),
		"the watch did not deliver the write that undoes the repair")
	return r.after(ctx, time.Second, wanted)
}

// finds reports whether a pass would repair the object now if repairs were not delayed.
func (r *ring) finds(ctx context.Context) (bool, error) {
	late := r.pass
	late.Now = late.Now.Add(time.Hour)
	o, err := r.engine.Plan(ctx, late)
	return !o.Observing && !o.Applied, err
}

// after advances the clock by d, and then makes passes until their outcome is as wanted.
func (r *ring) after(ctx context.Context, d time.Duration, wanted func(result.Outcome) bool) result.Outcome {
	GinkgoHelper()
	r.pass.Now = r.pass.Now.Add(d)
	var o result.Outcome
	Eventually(ctx, func() bool {
		o = r.run(ctx)
		return wanted(o)
	}).Should(BeTrue())
	return o
}

// writes returns the engine's writes to dependents.
func (r *ring) writes(ctx context.Context, mark auditMark) testcluster.Events {
	GinkgoHelper()
	return succeeded(requestsSince(ctx, mark, r.name).Writes())
}

// rival is another client that undoes repairs, and the expected message about this client.
type rival struct {
	manifest string
	undo     func(ctx context.Context, namespace string)
	message  string
	// lost reports whether the repair is still undone.
	lost func(ctx context.Context, namespace string) bool
}

// as returns a client that writes with the given field manager.
func as(manager string) client.Client { return client.WithFieldOwner(k8s, manager) }

func mergeAs(manager, name, text string) func(context.Context, string) {
	return func(ctx context.Context, namespace string) {
		GinkgoHelper()
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		o.SetNamespace(namespace)
		o.SetName(name)
		Expect(as(manager).Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
	}
}

func rivals() map[string]rival {
	settings := configMap("settings", "ours")
	valueLost := func(ctx context.Context, namespace string) bool {
		o, err := get(ctx, "v1", "ConfigMap", namespace, "settings")
		value, _, _ := unstructured.NestedString(o.Object, "data", "value")
		return err != nil || value != "ours" || o.GetLabels()["team"] != "blue"
	}
	return map[string]rival{
		"a value of a ConfigMap": {
			settings, mergeAs("tuner", "settings", `{"data":{"value":"theirs"}}`),
			`data.value is changed repeatedly by "tuner" (Update); name data.value in the annotation ignore to let "tuner" own it, or stop "tuner" from writing it`,
			valueLost,
		},
		"a label of the operator, in a kind whose watch receives only metadata": {
			settings, mergeAs("labeller", "settings", `{"metadata":{"labels":{"team":"red"}}}`),
			`metadata.labels.team is changed repeatedly by "labeller" (Update)`, valueLost,
		},
		"a value that the other manager removes": {
			settings, mergeAs("cleaner", "settings", `{"data":{"value":null}}`),
			`data.value is removed repeatedly by an unknown client`, valueLost,
		},
		"a value, by server-side apply with force, as another operator does": {
			settings, func(ctx context.Context, namespace string) {
				o := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": "settings"},
					"data": map[string]any{"value": "theirs"},
				}}
				Expect(k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("other.example.com"),
					client.ForceOwnership)).To(Succeed())
			},
			`data.value is changed repeatedly by "other.example.com" (Apply)`, valueLost,
		},
		"an object that the other manager deletes": {
			settings, func(ctx context.Context, namespace string) { remove(ctx, newConfigMap(namespace, "settings")) },
			`an unknown client deletes it repeatedly; stop that client`, valueLost,
		},
		"the replicas of a Deployment": {
			deployment("web"), func(ctx context.Context, namespace string) {
				o := mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
				scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
				Expect(k8s.SubResource("scale").Update(ctx, o, client.WithSubResourceBody(scale),
					client.FieldOwner("kube-controller-manager"))).To(Succeed())
			},
			`spec.replicas is changed repeatedly by "kube-controller-manager" (Update of scale); a HorizontalPodAutoscaler sets it: name spec.replicas in the annotation ignore to let the autoscaler own it`,
			func(ctx context.Context, namespace string) bool {
				n, _, _ := unstructured.NestedInt64(mustGet(ctx, "apps/v1", "Deployment", namespace, "web").Object,
					"spec", "replicas")
				return n != 1
			},
		},
	}
}

var _ = Describe("Repair conflicts:", func() {
	forEachPolicy(func(policy string) {
		for name, r := range rivals() {
			It("a repair conflict over "+name+
				" delays the repairs, names the conflicting manager, and ends when that manager stops", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				policies := metav1alpha1.Policies{Update: metav1alpha1.UpdatePolicy(policy)}
				e := newRing(ctx, namespace, r.manifest, policies)
				mark := markAudit(ctx)
				undo := func() { r.undo(ctx, namespace) }
				repaired := func(result.Outcome) bool { return !r.lost(ctx, namespace) }
				putOff := func(o result.Outcome) bool { return len(o.RepairConflicts) > 0 && r.lost(ctx, namespace) }

				free := 0
				conflicts := e.undone(ctx, undo, func(o result.Outcome) bool { return repaired(o) || putOff(o) }).RepairConflicts
				for ; len(conflicts) == 0; free++ {
					conflicts = e.undone(ctx, undo, func(o result.Outcome) bool { return repaired(o) || putOff(o) }).RepairConflicts
				}
				// The first repair also removes other managed fields than later repairs, because a regular update created the
				// object.
				Expect(free).To(BeNumerically("~", 5, 1))
				Expect(conflicts).To(HaveExactElements(HaveField("Message", ContainSubstring(r.message))))

				for range 8 {
					Expect(e.after(ctx, 6*time.Minute, repaired).RepairConflicts).To(Equal(conflicts),
						"the repair must not change the reported repair conflict")
					Expect(e.undone(ctx, undo, putOff).RepairConflicts).To(Equal(conflicts))
				}
				Expect(e.writes(ctx, mark)).To(HaveLen(free+8), "%v", verbs(e.writes(ctx, mark)))

				Expect(e.after(ctx, 6*time.Minute, repaired).RepairConflicts).To(Equal(conflicts),
					"the repair conflict must still be reported, because the repair may be undone again")
				e.after(ctx, 6*time.Minute, func(o result.Outcome) bool {
					return len(o.RepairConflicts) == 0 && o.Applied &&
						o.Ready == 1
				})
				Expect(r.lost(ctx, namespace)).To(BeFalse())
			})
		}
	})

	valueOf := func(ctx context.Context, namespace, name string) string {
		o, _ := get(ctx, "v1", "ConfigMap", namespace, name)
		value, _, _ := unstructured.NestedString(o.Object, "data", "value")
		return value
	}
	// tune undoes each repair of the ConfigMap settings, until stop is called.
	tune := func(ctx context.Context, namespace string) (stop func()) {
		tuning, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(done)
			for tuning.Err() == nil {
				if valueOf(ctx, namespace, "settings") == "ours" {
					mergeAs("tuner", "settings", `{"data":{"value":"theirs"}}`)(ctx, namespace)
				}
			}
		}()
		return func() {
			cancel()
			<-done
		}
	}
	hasRepairConflict := func(ctx context.Context, g *gadget.Gadget) func() bool {
		return func() bool {
			return meta.IsStatusConditionTrue(current(ctx, g).Status.Conditions, metav1alpha1.ConditionRepairConflict)
		}
	}

	It("a component with a repair conflict is not ready, names the conflicting manager, and repairs other dependents "+
		"without delay", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		wave := func(n int) string { return fmt.Sprintf("%s/order: %q", operator, fmt.Sprint(n)) }
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "ours"), configMap("late", "ours", wave(1))),
			servedBy(operator))
		expectReady(ctx, g)
		stop := tune(ctx, namespace)
		defer stop()
		const message = `repair conflict: ConfigMap %s/settings (data.value is changed repeatedly by "tuner" (Update); name data.value in the annotation ignore`
		expectCondition(ctx, g, metav1alpha1.ConditionRepairConflict, "True RepairConflict: "+fmt.Sprintf(message, namespace))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False RepairConflict: "+fmt.Sprintf(message, namespace))
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("1/2"))
		Expect(current(ctx, g).Status.Waiting).To(HaveExactElements(HaveField("Reason", result.ReportRepairConflict)))

		mark := markAudit(ctx)
		patch(ctx, newConfigMap(namespace, "late"), `{"data":{"value":"theirs"}}`)
		Eventually(ctx, func() string { return valueOf(ctx, namespace, "late") }).Should(Equal("ours"),
			"another dependent was not repaired at once")
		var written testcluster.Events
		Eventually(ctx, func() testcluster.Events {
			written = inNamespace(requestsSince(ctx, mark, operator), namespace).Writes()
			return written.Where(named("settings"))
		}).ShouldNot(BeEmpty(), "the delayed repair must be made without a request for a pass")
		Expect(written.Where(named("late"))).To(HaveLen(1), "%v", verbs(written))
		Expect(written.Resource("gadgets")).To(BeEmpty(),
			"a repair of the dependent with a repair conflict must not change the status: %v", verbs(written))
		Expect(hasRepairConflict(ctx, g)()).To(BeTrue())

		stop()
		requestPass(ctx, g, operator)
		expectReady(ctx, g)
		Expect(hasRepairConflict(ctx, g)()).To(BeFalse())
		Expect(valueOf(ctx, namespace, "settings")).To(Equal("ours"))
	})

	for name, insist := range map[string]func(context.Context, *gadget.Gadget){
		"requests a pass": func(ctx context.Context, g *gadget.Gadget) { requestPass(ctx, g, operatorName) },
		"changes the spec": func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, together(g.Spec.Manifests, configMap("more", "a")))
		},
		"changes a manifest": func(ctx context.Context, g *gadget.Gadget) {
			changeManifests(ctx, g, configMap("settings", "ours", `note: "x"`))
		},
	} {
		It("a dependent with a repair conflict is repaired at once when a user "+name, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
			expectReady(ctx, g)
			stop := tune(ctx, namespace)
			Eventually(ctx, hasRepairConflict(ctx, g)).Should(BeTrue())
			stop()
			insist(ctx, g)
			expectReady(ctx, g)
			Expect(hasRepairConflict(ctx, g)()).To(BeFalse())
			Expect(valueOf(ctx, namespace, "settings")).To(Equal("ours"))
			repairs := succeeded(writes(ctx, operatorName, namespace).Where(named("settings")))
			repaired, over := repairs[len(repairs)-1].Time, meta.FindStatusCondition(current(ctx, g).Status.Conditions,
				metav1alpha1.ConditionReady)
			Expect(over.LastTransitionTime.Time).To(BeTemporally("<", repaired.Add(20*time.Second)),
				"without the user's action the conflict would end over half a minute after a repair")
		})
	}

	It("a component with the condition Contested of an earlier version is taken over without a write "+
		"to a dependent", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), servedBy(operator))
		expectReady(ctx, g)
		stop()
		g = current(ctx, g)
		meta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{
			Type: "Contested", Status: metav1.ConditionTrue, Reason: "DependentContested", Message: "theirs",
		})
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())

		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() []metav1.Condition { return current(ctx, g).Status.Conditions }).
			ShouldNot(ContainElement(HaveField("Type", "Contested")))
		Expect(hasRepairConflict(ctx, g)()).To(BeFalse())
		expectReady(ctx, g)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps")).To(BeEmpty())
	})

	It("a dependent with a repair conflict is deleted with its component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
		expectReady(ctx, g)
		stop := tune(ctx, namespace)
		Eventually(ctx, hasRepairConflict(ctx, g)).Should(BeTrue())
		stop()
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectNotFound(ctx, newConfigMap(namespace, "settings"))
	})

	It("three writes of a default by a starting controller, or one foreign edit of each of many dependents, cause no "+
		"repair conflict", func(ctx SpecContext) {
		const many = 300
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		text := func(changed int, value string) string {
			return together(configMap("settings", "ours"), configMaps("old", many-changed, "ours"),
				configMaps("new", changed, value))
		}
		g := newGadget(ctx, namespace, "app", text(100, "ours"), servedBy(operator))
		expectReady(ctx, g)
		values := func(prefix string, n int) func() []string {
			return func() []string {
				var foreign []string
				for i := range n {
					if name := fmt.Sprintf("%s-%d", prefix, i); valueOf(ctx, namespace, name) == "theirs" {
						foreign = append(foreign, name)
					}
				}
				return foreign
			}
		}
		mark := markAudit(ctx)

		for range 3 {
			mergeAs("defaulter", "settings", `{"data":{"value":"theirs"}}`)(ctx, namespace)
			Eventually(ctx, func() string { return valueOf(ctx, namespace, "settings") }).Should(Equal("ours"))
		}
		for i := range many - 100 {
			mergeAs("somebody", fmt.Sprintf("old-%d", i), `{"data":{"value":"theirs"}}`)(ctx, namespace)
		}
		changeManifests(ctx, g, text(100, "newer"))
		for i := range 100 {
			mergeAs("somebody", fmt.Sprintf("new-%d", i), `{"data":{"value":"theirs"}}`)(ctx, namespace)
		}
		Eventually(ctx, values("old", many-100)).Should(BeEmpty())
		Eventually(ctx, values("new", 100)).Should(BeEmpty())
		expectReady(ctx, g)
		Expect(hasRepairConflict(ctx, g)()).To(BeFalse())
		expected := 3 + many - 100 + 100
		Expect(len(succeeded(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps")))).
			To(And(BeNumerically(">=", expected), BeNumerically("<=", expected+100)),
				"each dependent is written once after its edit, and once for its new manifest")
	})
})
