package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("The schedule of passes:", func() {
	// counted runs an operator that counts its passes. Passes that the rate limit delays are not counted.
	counted := func(o operatorOptions) (operator string, count *atomic.Int64) {
		operator, count = newOperatorName(), &atomic.Int64{}
		o.hooks.PostRead = func(context.Context, *gadget.Gadget, component.DependentReader) error { count.Add(1); return nil }
		runOperator(operator, o)
		return operator, count
	}
	annotate := func(ctx context.Context, g *gadget.Gadget, key string) {
		GinkgoHelper()
		patch(ctx, current(ctx, g), fmt.Sprintf(`{"metadata":{"annotations":{"%s":"%d"}}}`, key, sequence.Add(1)))
	}

	It("a request for a pass starts a pass, and changes neither digest nor revision", func(ctx SpecContext) {
		operator, count := counted(operatorOptions{})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		before, had := current(ctx, g).Status, count.Load()
		mark := markAudit(ctx)
		annotate(ctx, g, operator+"/"+metav1alpha1.AnnotationReconcileRequested)
		Eventually(ctx, count.Load).Should(Equal(had + 1))
		settle(ctx, operator)
		Expect(count.Load()).To(Equal(had + 1))
		Expect(current(ctx, g).Status).To(Equal(before))
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
	})

	It("a change of other metadata of the component starts no pass", func(ctx SpecContext) {
		operator, count := counted(operatorOptions{})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		had := count.Load()
		annotate(ctx, g, "example.com/note")
		patch(ctx, current(ctx, g), `{"metadata":{"labels":{"example.com/tier":"one"}}}`)
		settle(ctx, operator)
		Expect(count.Load()).To(Equal(had))
	})

	It("with Options.Watching.Metadata, a change of other metadata of the component starts a pass, and a change of the "+
		"status starts no pass", func(ctx SpecContext) {
		operator, count := counted(operatorOptions{
			component: component.Options{Watching: component.Watching{Metadata: true}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		had := count.Load()
		annotate(ctx, g, "example.com/note")
		Eventually(ctx, count.Load).Should(Equal(had + 1))
		patch(ctx, current(ctx, g), `{"metadata":{"labels":{"example.com/tier":"one"}}}`)
		Eventually(ctx, count.Load).Should(Equal(had + 2))
		fresh := current(ctx, g)
		fresh.Status.Port = 1
		Expect(k8s.Status().Update(ctx, fresh)).To(Succeed())
		settle(ctx, operator)
		Expect(count.Load()).To(Equal(had + 2))
	})

	It("with Options.Watching.Status, a change of the author's status by another client "+
		"starts a pass", func(ctx SpecContext) {
		operator, count := newOperatorName(), &atomic.Int64{}
		o := operatorOptions{component: component.Options{Watching: component.Watching{Status: true}}}
		var r *component.Reconciler[*gadget.Gadget]
		o.built = func(built *component.Reconciler[*gadget.Gadget]) { r = built }
		o.hooks.PreReconcile = func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
			count.Add(1)
			return r.UpdateStatus(ctx, g, func(g *gadget.Gadget) error {
				g.Status.Port = max(g.Status.Port, 7)
				return nil
			})
		}
		runOperator(operator, o)
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.Port).To(Equal(7))
		had := count.Load()
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(77) })
		Eventually(ctx, count.Load).Should(Equal(had + 1))
		settle(ctx, operator)
		Expect(count.Load()).To(Equal(had + 1))
		fresh := current(ctx, g)
		fresh.Status.Port = 9
		Expect(k8s.Status().Update(ctx, fresh)).To(Succeed())
		Eventually(ctx, count.Load).Should(Equal(had + 2))
		settle(ctx, operator)
		Expect(count.Load()).To(Equal(had + 2))
	})

	It("with a limiter, a burst of passes begins at once, and later passes wait and "+
		"handle all changes", func(ctx SpecContext) {
		const burst, period = 12, time.Hour
		operator, limiter := newOperatorName(), &steeredLimiter{Limiter: component.PassesWithin(burst, period)}
		runOperator(operator, operatorOptions{
			component: component.Options{Intervals: component.Intervals{Limiter: limiter}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "0"), servedBy(operator))
		expectReady(ctx, g)
		value := func() string {
			GinkgoHelper()
			found, _, err := unstructured.NestedString(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "settings").Object,
				"data", "value")
			Expect(err).NotTo(HaveOccurred())
			return found
		}
		changes := 0
		for ; limiter.passed.Load() < burst; changes++ {
			want := fmt.Sprint(changes + 1)
			changeManifests(ctx, g, configMap("settings", want))
			Eventually(ctx, func() bool { return value() == want || limiter.passed.Load() >= burst }).Should(BeTrue(),
				"the change must not wait")
		}
		Expect(changes).To(BeNumerically(">=", 2), "the burst must not be used up by the creation")
		settle(ctx, operator)

		By("more passes than the limiter permits")
		before := value()
		for i := range 3 {
			delayed := passes(operator)
			changeManifests(ctx, g, configMap("settings", fmt.Sprint("late", i)))
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", delayed))
		}
		settle(ctx, operator)
		Expect(value()).To(Equal(before))
		Expect(limiter.passed.Load()).To(BeEquivalentTo(burst))

		By("the period ends")
		limiter.skipped.Store(int64(period))
		requestPass(ctx, g, operator)
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(value()).To(Equal("late2"))
		Expect(limiter.passed.Load()).To(BeEquivalentTo(burst+1), "one pass handles all changes")
	})

	It("with a limiter, no more passes begin within a period, and later passes handle all changes", func(ctx SpecContext) {
		const period = 4 * time.Second
		operator, count := newOperatorName(), &atomic.Int64{}
		var begun []time.Time
		runOperator(operator, operatorOptions{
			component: component.Options{Intervals: component.Intervals{Limiter: component.PassesWithin(3, period)}},
			hooks: component.Hooks[*gadget.Gadget]{
				PostReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
					begun = append(begun, time.Now())
					count.Add(1)
					return nil
				},
			},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		for i := range 20 {
			changeManifests(ctx, g, configMap("settings", fmt.Sprint("b", i)))
		}
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", g.Namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "b19"))
		settle(ctx, operator)
		made := begun[:count.Load()]
		for i := range max(0, len(made)-3) {
			Expect(made[i+3].Sub(made[i])).To(BeNumerically(">=", period-50*time.Millisecond),
				"more than three passes in a period")
		}
		Expect(len(made)).To(BeNumerically("<", 20))
	})

	It("with a limiter, retries of a failing pass wait, too", func(ctx SpecContext) {
		const burst, period = 2, time.Hour
		limiter := &steeredLimiter{Limiter: component.PassesWithin(burst, period)}
		operator, count := counted(operatorOptions{
			component: component.Options{Intervals: component.Intervals{Limiter: limiter}},
			hooks: gadgetHooks{PreReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				return errors.New("the registry is busy")
			}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		Eventually(ctx, limiter.passed.Load).Should(BeEquivalentTo(burst), "the first retry is made at once")
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(count.Load()).To(BeEquivalentTo(burst), "neither a retry nor a request exceeds the limit")

		By("the period ends")
		limiter.skipped.Store(int64(period))
		requestPass(ctx, g, operator)
		Eventually(ctx, count.Load).Should(BeNumerically(">", burst))
	})

	It("a component has one pass at a time, while other components have theirs, and an event during a pass "+
		"starts one more", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		var reconciler *gadgetReconciler
		var running, most, count atomic.Int64
		held, release := make(chan struct{}, 1), make(chan struct{})
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{MaxConcurrentReconciles: 8}},
			built:     func(r *gadgetReconciler) { reconciler = r },
			hooks: gadgetHooks{PreReconcile: func(ctx context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				if g.Name != "held" {
					return nil
				}
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				if count.Add(1) == 1 {
					held <- struct{}{}
					select {
					case <-release:
					case <-ctx.Done():
					}
				}
				return nil
			}},
		})
		g := newGadget(ctx, namespace, "held", configMap("settings", "a"), servedBy(operator))
		Eventually(ctx, held).Should(Receive())
		for range 20 {
			reconciler.Trigger(client.ObjectKeyFromObject(g))
		}
		expectReady(ctx, newGadget(ctx, namespace, "other", configMap("others", "a"), servedBy(operator)))
		Expect(count.Load()).To(BeEquivalentTo(1))
		close(release)
		expectReady(ctx, g)
		Eventually(ctx, count.Load).Should(BeNumerically(">=", 2), "the events during the pass are handled")
		settle(ctx, operator)
		Expect(most.Load()).To(BeEquivalentTo(1))
	})

	It("a limiter of the author decides when a pass begins, and forgets a deleted component", func(ctx SpecContext) {
		operator, limiter := newOperatorName(), &gate{}
		limiter.closed.Store(true)
		runOperator(operator, operatorOptions{
			component: component.Options{Intervals: component.Intervals{Limiter: limiter}},
		})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		Eventually(ctx, limiter.asked.Load).Should(BeNumerically(">=", 3))
		Expect(current(ctx, g).Status.State).To(BeEmpty())
		limiter.closed.Store(false)
		expectReady(ctx, g)
		Eventually(ctx, limiter.passed.Load).Should(BeNumerically(">=", 1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Eventually(ctx, limiter.forgotten.Load).Should(BeNumerically(">=", 1))
	})

	It("passes are repeated at the resync interval without requests, and not repeated if the "+
		"interval is zero", func(ctx SpecContext) {
		operator, count := counted(operatorOptions{})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Interval = milliseconds(100) })
		expectReady(ctx, g)
		mark, begin, had := markAudit(ctx), time.Now(), count.Load()
		Eventually(ctx, count.Load).Should(BeNumerically(">=", had+4))
		Expect(time.Since(begin)).To(BeNumerically(">", 260*time.Millisecond),
			"the next pass came too early: the interval starts at the end of the last pass")
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Interval = milliseconds(0) })
		expectReady(ctx, g)
		settle(ctx, operator)
		had = count.Load()
		Consistently(ctx, count.Load).WithTimeout(500 * time.Millisecond).Should(Equal(had))
	})

	It("a suspended component is neither written nor polled", func(ctx SpecContext) {
		operator, count := counted(operatorOptions{})
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator),
			func(g *gadget.Gadget) { g.Spec.Interval, g.Spec.RetryInterval = milliseconds(50), milliseconds(50) })
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		settle(ctx, operator)
		mark, had := markAudit(ctx), count.Load()
		Consistently(ctx, count.Load).WithTimeout(500 * time.Millisecond).Should(Equal(had))
		remove(ctx, newConfigMap(namespace, "settings"))
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, namespace) }).Should(Equal(1))
	})

	It("a call of Reconciler.Trigger starts a pass, also if the call is made before the "+
		"operator starts", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		absent := client.ObjectKey{Namespace: namespace, Name: "absent"}
		var reconciler *component.Reconciler[*gadget.Gadget]
		count := &atomic.Int64{}
		runOperator(operator, operatorOptions{
			hooks: component.Hooks[*gadget.Gadget]{
				PostRead: func(context.Context, *gadget.Gadget, component.DependentReader) error { count.Add(1); return nil },
			},
			built: func(r *component.Reconciler[*gadget.Gadget]) { reconciler = r; r.Trigger(absent) },
		})
		Eventually(ctx, func() int { return passes(operator) }).Should(Equal(1))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		had := count.Load()
		reconciler.Trigger(client.ObjectKeyFromObject(g))
		Eventually(ctx, count.Load).Should(Equal(had + 1))
	})

	It("the rate limit combines many events into one pass at the end of its interval, and "+
		"loses no event", func(ctx SpecContext) {
		const interval = 400 * time.Millisecond
		namespace, operator := newNamespace(ctx), newOperatorName()
		ends, changed := make(chan time.Time, 100), make(chan struct{})
		runOperator(operator, operatorOptions{
			component: component.Options{Intervals: component.Intervals{Min: interval}},
			hooks: component.Hooks[*gadget.Gadget]{
				PostReconcile: func(ctx context.Context, _ *gadget.Gadget, _ component.DependentReader) error {
					ends <- time.Now()
					select {
					case <-changed:
					case <-ctx.Done():
					}
					return nil
				},
			},
		})
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		var last time.Time
		Eventually(ctx, ends).Should(Receive(&last))
		for i := range 15 {
			changeManifests(ctx, g, configMap("settings", fmt.Sprint("b", i)))
		}
		close(changed)
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "b14"))
		settle(ctx, operator)
		close(ends)
		count := 1
		for end := range ends {
			Expect(end.Sub(last)).To(BeNumerically(">=", interval))
			last, count = end, count+1
		}
		Expect(count).To(And(BeNumerically(">=", 2), BeNumerically("<", 5)),
			"too many passes: a pass must handle many events")
	})

	It("if an error contains a delay, the pass is retried after this delay", func(ctx SpecContext) {
		calls := make(chan time.Time, 100)
		operator, _ := counted(operatorOptions{generate: generator.GeneratorFunc(func(ctx context.Context,
			req generator.Request,
		) ([]client.Object, error) {
			calls <- time.Now()
			if len(calls) < 3 {
				return nil, fmt.Errorf("look up: %w", component.RetryAfter(errors.New("the registry is busy"),
					600*time.Millisecond))
			}
			return gadget.Generate(ctx, req)
		})})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReconciling, "True Retrying: look up: the registry is busy")
		expectReady(ctx, g)
		first, second := <-calls, <-calls
		Expect(second.Sub(first)).To(BeNumerically(">=", 600*time.Millisecond),
			"the retry came before the delay in the error had passed")
	})

	It("a terminal error stalls the component, and the pass is repeated at the retry interval", func(ctx SpecContext) {
		fails := &atomic.Bool{}
		fails.Store(true)
		operator := newOperatorName()
		runOperator(operator, operatorOptions{hooks: component.Hooks[*gadget.Gadget]{
			PreReconcile: func(context.Context, *gadget.Gadget, component.DependentReader) error {
				if fails.Load() {
					return reconcile.TerminalError(errors.New("no licence"))
				}
				return nil
			},
		}})
		g := newGadget(ctx, newNamespace(ctx), "app", configMap("settings", "a"), servedBy(operator),
			func(g *gadget.Gadget) { g.Spec.RetryInterval = milliseconds(700) })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True HookFailed"), ContainSubstring("PreReconcile"), ContainSubstring("no licence")))
		fails.Store(false)
		expectReady(ctx, g)
	})

	It("the timeout of a component takes effect although events arrive all the time", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", heldDeployment("web"), func(g *gadget.Gadget) { g.Spec.Timeout = seconds(2) })
		Eventually(ctx, func() error { _, err := get(ctx, "apps/v1", "Deployment", namespace, "web"); return err }).
			Should(Succeed())
		Eventually(ctx, func(a Gomega) {
			patch(ctx, mustGet(ctx, "apps/v1", "Deployment", namespace, "web"),
				fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, sequence.Add(1)))
			a.Expect(condition(current(ctx, g), metav1alpha1.ConditionStalled)).To(HavePrefix("True Timeout"))
		}).WithPolling(20 * time.Millisecond).Should(Succeed())
	})
})

// gate is a limiter that permits no pass while it is closed.
type gate struct {
	closed                   atomic.Bool
	asked, passed, forgotten atomic.Int64
}

func (g *gate) Delay(types.NamespacedName, time.Time) time.Duration {
	g.asked.Add(1)
	if g.closed.Load() {
		return 50 * time.Millisecond
	}
	return 0
}

func (g *gate) Passed(types.NamespacedName, time.Time) { g.passed.Add(1) }

func (g *gate) Forget(types.NamespacedName) { g.forgotten.Add(1) }

// steeredLimiter is a Limiter whose time can be advanced. It counts the passes.
type steeredLimiter struct {
	component.Limiter
	passed, skipped atomic.Int64
}

func (l *steeredLimiter) Delay(name types.NamespacedName, now time.Time) time.Duration {
	return l.Limiter.Delay(name, now.Add(time.Duration(l.skipped.Load())))
}

func (l *steeredLimiter) Passed(name types.NamespacedName, now time.Time) {
	l.Limiter.Passed(name, now.Add(time.Duration(l.skipped.Load())))
	l.passed.Add(1)
}
