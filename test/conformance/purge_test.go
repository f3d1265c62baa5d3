package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// purgeOrder returns the setting of a purge order for the given operator.
func purgeOrder(operator string, wave int) string {
	return settingOf(operator, "purge-order", fmt.Sprint(wave))
}

// job renders a Job that completes at once.
func job(name, value string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec:
  template:
    metadata: {annotations: {value: %q}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "nginx:1"}]`, name, strings.Join(annotations, ", "), value)
}

var _ = Describe("Dependents with a purge order:", func() {
	// start runs an operator and creates a gadget for it.
	start := func(ctx context.Context, manifests func(operator string) string) (operator string, g *gadget.Gadget,
		stop func(),
	) {
		GinkgoHelper()
		operator = newOperatorName()
		stop = runOperator(operator, operatorOptions{})
		return operator, newGadget(ctx, newNamespace(ctx), "app", manifests(operator), servedBy(operator)), stop
	}
	exists := func(ctx context.Context, namespace, name string) bool {
		_, err := get(ctx, "v1", "ConfigMap", namespace, name)
		return err == nil
	}
	// history returns the successful writes to ConfigMaps and Jobs, in order.
	history := func(ctx context.Context, mark auditMark, operator, namespace string) []string {
		GinkgoHelper()
		var texts []string
		for _, e := range succeeded(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Resource("configmaps",
			"jobs")) {
			texts = append(texts, e.Verb+" "+e.Name)
		}
		return texts
	}
	purged := And(HaveField("Completed", BeTrue()), HaveField("UID", BeEmpty()))

	It("an object with a purge order is deleted when the waves up to its purge order are ready, before the "+
		"next wave starts", func(ctx SpecContext) {
		operator, g, _ := start(ctx, func(operator string) string {
			wave := func(n int) string { return settingOf(operator, "order", fmt.Sprint(n)) }
			return together(configMap("first", "a", purgeOrder(operator, 0)),
				configMap("second", "a", wave(1), purgeOrder(operator, 3)),
				configMap("third", "a", wave(2)), configMap("last", "a", wave(4), purgeOrder(operator, 9)))
		})
		expectReady(ctx, g)
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{
			"patch first", "delete first", "patch second", "patch third", "delete second", "patch last", "delete last",
		}))
		Expect(current(ctx, g).Status.Dependents.Summary).To(Equal("4/4"), "a completed object must be counted as ready")
		for _, name := range []string{"first", "second", "last"} {
			Expect(entryOf(ctx, g, name)).To(purged)
		}
	})

	It("an object with a purge order stays while the wave of its purge order is not ready", func(ctx SpecContext) {
		_, g, _ := start(ctx, func(operator string) string {
			return together(configMap("scratch", "a", purgeOrder(operator, 0)), heldDeployment("web"))
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("/web")))
		Expect(exists(ctx, g.Namespace, "scratch")).To(BeTrue())
		changeManifests(ctx, g, removeLine(current(ctx, g).Spec.Manifests, "nodeSelector"))
		expectReady(ctx, g)
		Expect(exists(ctx, g.Namespace, "scratch")).To(BeFalse())
	})

	It("the next wave waits until a purged object no longer exists", func(ctx SpecContext) {
		_, g, _ := start(ctx, func(operator string) string {
			held := strings.Replace(configMap("held", "a", purgeOrder(operator, 0)), "  name:",
				"  finalizers: [example.com/hold]\n  name:", 1)
			return together(held, configMap("later", "a", settingOf(operator, "order", "1")))
		})
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring("held"),
			ContainSubstring("finalizers")))
		Expect(exists(ctx, g.Namespace, "later")).To(BeFalse())
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", g.Namespace, "held"), `{"metadata":{"finalizers":null}}`)
		expectReady(ctx, g)
		Expect(exists(ctx, g.Namespace, "later")).To(BeTrue())
		Expect(exists(ctx, g.Namespace, "held")).To(BeFalse())
	})

	It("a purged Job runs again, and is purged again, only when its manifest changes", func(ctx SpecContext) {
		manifests := func(operator, value string, settings ...string) string {
			return together(job("migrate", value, append(settings, purgeOrder(operator, 0))...), configMap("app", value))
		}
		operator, g, stop := start(ctx, func(operator string) string { return manifests(operator, "1") })
		expectReady(ctx, g)
		Expect(history(ctx, 0, operator, g.Namespace)).To(Equal([]string{"patch app", "patch migrate", "delete migrate"}))
		settle(ctx, operator)

		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		stop()
		runOperator(operator, operatorOptions{})
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(30) })
		expectReady(ctx, g)
		changeManifests(ctx, g, manifests(operator, "1", settingOf(operator, "delete-order", "2")))
		expectReady(ctx, g)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps", "jobs"))).
			To(BeEmpty())

		changeManifests(ctx, g, manifests(operator, "2"))
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal([]string{"patch app", "patch migrate", "delete migrate"}))
		Expect(entryOf(ctx, g, "migrate")).To(purged)
		Eventually(ctx, func() error { _, err := get(ctx, "batch/v1", "Job", g.Namespace, "migrate"); return err }).
			Should(HaveOccurred())
	})

	DescribeTable("a purged object is created again by its reconcile policy:", func(ctx SpecContext, policy string,
		changeOfComponent, changeOfManifest []string,
	) {
		manifests := func(operator, value string) string {
			return together(configMap("scratch", value, purgeOrder(operator, 0),
				settingOf(operator, "reconcile-policy", policy)), configMap("stays", "a"))
		}
		operator, g, _ := start(ctx, func(operator string) string { return manifests(operator, "a") })
		expectReady(ctx, g)
		mark := markAudit(ctx)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(30) })
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal(changeOfComponent))
		mark = markAudit(ctx)
		changeManifests(ctx, g, manifests(operator, "b"))
		expectReady(ctx, g)
		Expect(history(ctx, mark, operator, g.Namespace)).To(Equal(changeOfManifest))
		Expect(exists(ctx, g.Namespace, "scratch")).To(BeFalse())
	},
		Entry("on-object-change, when its manifest changed", "on-object-change", nil,
			[]string{"patch scratch", "delete scratch"}),
		Entry("on-object-or-component-change, when the component changed", "on-object-or-component-change",
			[]string{"patch scratch", "delete scratch"}, []string{"patch scratch", "delete scratch"}),
		Entry("once, never", "once", nil, nil),
	)

	for _, cut := range []struct {
		name       string
		after      int64
		unanswered bool
	}{{"before its deletion", 2, false}, {"after its deletion, before the status reports it", 3, true}} {
		It("a purged object does not run again after a crash "+cut.name, func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			text := together(configMap("scratch", "a", purgeOrder(operator, 0)), configMap("stays", "a"))
			c := &crash{counts: writesTo(namespace, "configmaps"), after: cut.after, unanswered: cut.unanswered}
			g := newGadget(ctx, namespace, "app", text, servedBy(operator))
			stop := runOperator(operator, operatorOptions{transport: c.wrap})
			Eventually(ctx, c.crashed.Load).Should(BeTrue())
			stop()
			Expect(entryOf(ctx, g, "scratch").Completed).To(BeTrue(),
				"the completion must be recorded before the deletion of the object")
			runOperator(operator, operatorOptions{})
			expectReady(ctx, g)
			Expect(history(ctx, 0, operator, namespace)).To(ConsistOf("patch scratch", "patch stays", "delete scratch"))
			Expect(entryOf(ctx, g, "scratch")).To(purged)
		})
	}

	It("an object with a purge order is not deleted if another owner took it over", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		// Another owner takes the object over right before its deletion.
		taken := make(chan struct{})
		runOperator(operator, operatorOptions{transport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				select {
				case <-taken:
				default:
					if r.Method == http.MethodDelete {
						close(taken)
						patchAs(ctx, operator, mustGet(ctx, "v1", "ConfigMap", namespace, "scratch"), fmt.Sprintf(
							`{"metadata":{"labels":{"%[1]s/owner-id":"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{"%[1]s/owner-id":"somebody else"}}}`, operator))
					}
				}
				return next.RoundTrip(r)
			})
		}})
		g := newGadget(ctx, namespace, "app", configMap("scratch", "a", purgeOrder(operator, 0)), servedBy(operator))
		expectReady(ctx, g)
		Expect(exists(ctx, namespace, "scratch")).To(BeTrue())
		Expect(entryOf(ctx, g, "scratch")).To(purged)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(exists(ctx, namespace, "scratch")).To(BeTrue())
	})

	It("the deletion of a component sends no request for a purged object", func(ctx SpecContext) {
		operator, g, _ := start(ctx, func(operator string) string {
			return configMap("scratch", "a",
				purgeOrder(operator, 0))
		})
		expectReady(ctx, g)
		mark := markAudit(ctx)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Resource("configmaps"))).To(BeEmpty())
	})

	It("a purged object is created again when its purge order is removed", func(ctx SpecContext) {
		_, g, _ := start(ctx, func(operator string) string { return configMap("scratch", "a", purgeOrder(operator, 0)) })
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("scratch", "a"))
		expectReady(ctx, g)
		Expect(exists(ctx, g.Namespace, "scratch")).To(BeTrue())
		Expect(entryOf(ctx, g, "scratch").Completed).To(BeFalse())
	})

	It("a Job with a purge order that ttlSecondsAfterFinished deletes runs once and is "+
		"treated as purged", func(ctx SpecContext) {
		operator, g, _ := start(ctx, func(operator string) string {
			return together(strings.Replace(job("migrate", "1", purgeOrder(operator, 1)), "spec:\n",
				"spec:\n  ttlSecondsAfterFinished: 0\n", 1),
				configMap("app", "a", settingOf(operator, "order", "1")))
		})
		expectReady(ctx, g)
		settle(ctx, operator)
		jobs := inNamespace(requestsSince(ctx, 0, operator), g.Namespace).Resource("jobs")
		Expect(succeeded(jobs.Verb("patch"))).To(HaveLen(1), "%v", verbs(jobs))
		Expect(entryOf(ctx, g, "migrate")).To(purged)
	})
})
