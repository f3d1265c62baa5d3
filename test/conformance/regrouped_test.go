package conformance_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("An object that the API server serves in two groups:", func() {
	It("is kept when the manifests name it in the other group, and in the first one again", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		const common = "reason: Started\naction: Start\ntype: Normal\neventTime: 2026-01-02T03:04:05.000000Z\n" +
			"reportingInstance: a\n"
		metadata := func(team, setting string) string {
			return fmt.Sprintf("metadata: {name: started, labels: {team: %s}, annotations: {%s}}\n", team, setting)
		}
		object := "{kind: Namespace, name: " + namespace + ", namespace: " + namespace + ", apiVersion: v1}\n"
		core := func(team, setting string) string {
			return "apiVersion: v1\nkind: Event\n" + metadata(team, setting) + common + "involvedObject: " + object +
				"reportingComponent: example.com/a\nmessage: it runs\n"
		}
		events := func(team, setting string) string {
			return "apiVersion: events.k8s.io/v1\nkind: Event\n" + metadata(team, setting) + common + "regarding: " + object +
				"reportingController: example.com/a\nnote: it runs\n"
		}
		g := newGadget(ctx, namespace, "app", together(core("a", ""), configMap("other", "x")), servedBy(operator))
		expectReady(ctx, g)
		started := func() any { return mustGet(ctx, "v1", "Event", namespace, "started").GetUID() }
		team := func() string {
			o, err := get(ctx, "v1", "Event", namespace, "started")
			if err != nil {
				return err.Error()
			}
			return o.GetLabels()["team"]
		}
		uid := started()
		Expect(uid).NotTo(Equal(types.UID("")))
		atOnce := settingOf(operator, "prune-policy", "at-once")
		for i, text := range []string{events("b", ""), core("c", atOnce), events("d", atOnce), core("e", "")} {
			changeManifests(ctx, g, together(text, configMap("other", fmt.Sprint(i))))
			Eventually(ctx, team).Should(Equal(string(rune('b' + i))))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(started()).To(Equal(uid))
			Expect(current(ctx, g).Status.Dependents.Total).To(Equal(int32(2)))
		}
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(team()).To(ContainSubstring("not found"))
	})

	It("is refused when the manifests contain it in both groups, and the message names both", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		const common = "metadata: {name: started}\nreason: Started\naction: Start\ntype: Normal\n" +
			"eventTime: 2026-01-02T03:04:05.000000Z\nreportingInstance: a\n"
		object := "{kind: Namespace, name: " + namespace + ", namespace: " + namespace + ", apiVersion: v1}\n"
		core := "apiVersion: v1\nkind: Event\n" + common + "involvedObject: " + object +
			"reportingComponent: example.com/a\nmessage: it runs\n"
		events := "apiVersion: events.k8s.io/v1\nkind: Event\n" + common + "regarding: " + object +
			"reportingController: example.com/a\nnote: it runs\n"
		g := newGadget(ctx, namespace, "app", together(core, events), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True DependentFailed"),
			ContainSubstring("Event.events.k8s.io "+namespace+"/started (it is the same object as Event "+namespace+"/started"),
			ContainSubstring("leave one of them out")))
		settle(ctx, operator)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("events").Writes()).To(BeEmpty())

		changeManifests(ctx, g, events)
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Dependents.Total).To(Equal(int32(1)))
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})
