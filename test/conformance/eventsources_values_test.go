package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Values of event sources:", func() {
	It("an equal part of an object that is not kept costs one read, and wakes nobody", func(ctx SpecContext) {
		const components = 20
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		c := shared(ctx, namespace, "shared", "a")
		settings := eventsource.Related("settings", configMapOptions{Of: toShared(namespace), Part: contentOf})
		runOperator(operator, operatorOptions{
			generate: nothing, hooks: hookSeeing(s, settings),
			built: withSources(settings),
		})
		for i := range components {
			newGadget(ctx, namespace, fmt.Sprint("g", i), "", servedBy(operator))
		}
		Eventually(ctx, func() int { return s.count("shared=a") }).Should(Equal(components))
		settle(ctx, operator)
		for i := range 3 {
			before, mark := passes(operator), markAudit(ctx)
			patch(ctx, c, fmt.Sprintf(`{"metadata":{"labels":{"heartbeat":"%d"}}}`, i))
			requests := func() []string { return verbs(requestsSince(ctx, mark, operator)) }
			Eventually(ctx, requests).Should(Equal([]string{"get configmaps 200"}))
			Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before))
			Expect(requests()).To(HaveLen(1))
		}
		mark := markAudit(ctx)
		patch(ctx, c, `{"data":{"value":"b"}}`)
		Eventually(ctx, func() int { return s.count("shared=b") }).Should(Equal(components))
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(Equal([]string{"get configmaps 200"}))
	})

	It("a value that is not known is told apart from an empty one, and is asked for when "+
		"it is wanted", func(ctx SpecContext) {
		namespace, operator, s := newNamespace(ctx), newOperatorName(), &seen{}
		var answer atomic.Pointer[string]
		answer.Store(new(""))
		var fetches atomic.Int64
		versions := eventsource.PollingEach("version", eventsource.PollOptions[*gadget.Gadget, string]{
			Fetch: func(context.Context, *gadget.Gadget) (string, error) { fetches.Add(1); return *answer.Load(), nil },
			After: func(*gadget.Gadget, string) time.Duration { return 0 }, // Only Refresh asks again.
			When:  func(g *gadget.Gadget) bool { return g.Spec.Parameters["url"] != "" },
		})
		runOperator(operator, operatorOptions{generate: nothing, built: withSources(versions), hooks: gadgetHooks{
			PreReconcile: func(_ context.Context, g *gadget.Gadget, _ component.DependentReader) error {
				value, _, known := versions.Get(g)
				if !known {
					value = "a value of the hook's own"
				}
				s.set(g.Name, "version: "+value)
				return nil
			},
		}})
		withURL := func(g *gadget.Gadget) { g.Spec.Parameters = map[string]string{"url": "https://example.com"} }
		with := newGadget(ctx, namespace, "with", "", servedBy(operator), withURL)
		without := newGadget(ctx, namespace, "without", "", servedBy(operator))
		expectReady(ctx, with)
		expectReady(ctx, without)
		Expect(s.all()).To(Equal(map[string]string{"with": "version: ", "without": "version: a value of the hook's own"}))
		known := func(g *gadget.Gadget) bool { _, _, known := versions.Get(g); return known }
		Expect(known(with)).To(BeTrue())
		Expect(known(without)).To(BeFalse())
		Expect(known(&gadget.Gadget{})).To(BeFalse())

		By("asking again only when it is wanted")
		Expect(fetches.Load()).To(Equal(int64(1)))
		answer.Store(new("2"))
		requestPass(ctx, with, operator)
		settle(ctx, operator)
		Expect(s.of("with")()).To(Equal("version: "))
		Expect(fetches.Load()).To(Equal(int64(1)))
		versions.Refresh(client.ObjectKeyFromObject(without))
		versions.Refresh(client.ObjectKey{Namespace: namespace, Name: "unknown"})
		versions.Refresh(client.ObjectKeyFromObject(with))
		Eventually(ctx, s.of("with")).Should(Equal("version: 2"))
		Expect(fetches.Load()).To(Equal(int64(2)))
		By("not waking the component for an equal value")
		settle(ctx, operator)
		before := passes(operator)
		versions.Refresh(client.ObjectKeyFromObject(with))
		Eventually(ctx, fetches.Load).Should(Equal(int64(3)))
		Consistently(ctx, func() int { return passes(operator) }).Should(Equal(before))

		By("forgetting the value of a suspended component")
		change(ctx, with, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, with, metav1alpha1.ConditionReady, "Unknown Suspended")
		Eventually(ctx, func() bool { return known(with) }).Should(BeFalse())
	})

	It("a secret value is rendered, and shown nowhere", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		mail := eventsource.Inbound("login", eventsource.InboundOptions[*gadget.Gadget, map[string]string]{})
		var answer atomic.Pointer[string]
		answer.Store(new("hidden-a"))
		polled := eventsource.Polling[*gadget.Gadget]("polled",
			time.Hour, func(context.Context) (map[client.ObjectKey]string, error) {
				return map[client.ObjectKey]string{{Namespace: namespace, Name: "app"}: *answer.Load()}, nil
			})
		runOperator(operator, operatorOptions{generate: inputsInto, built: withSources(
			eventsource.AsSecretInput(mail), eventsource.AsInput(eventsource.AsSecretInput(polled)),
		)})
		name := client.ObjectKey{Namespace: namespace, Name: "app"}
		Expect(mail.Put(name, map[string]string{"user": "hidden-b"})).To(Succeed())
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"login":{"user":"hidden-b"},"polled":"hidden-a"}`))
		Expect(mail.Put(name, map[string]string{"user": "hidden-c"})).To(Succeed())
		changes := func() []string { return current(ctx, g).Status.History[0].Changes }
		Eventually(ctx, changes).Should(Equal([]string{"input login: user: changed"}))
		answer.Store(new("hidden-d"))
		polled.Refresh(name)
		Eventually(ctx, changes).Should(Equal([]string{"input polled: changed"}))
		expectReady(ctx, g)
		Expect(rendered(ctx, namespace)()).To(Equal(`{"login":{"user":"hidden-c"},"polled":"hidden-d"}`))

		By("looking for the values in the component and in its events")
		text, err := json.Marshal(current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring("hidden-"))
		events := &corev1.EventList{}
		Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
		text, err = json.Marshal(events)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring("hidden-"))
	})
})
