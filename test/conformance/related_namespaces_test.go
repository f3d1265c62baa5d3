package conformance_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Namespaces of related objects:", func() {
	var namespace, elsewhere, operator string
	BeforeEach(func(ctx SpecContext) {
		namespace, elsewhere, operator = newNamespace(ctx), newNamespace(ctx), newOperatorName()
	})
	// run starts an operator that watches components in one namespace, and returns its reconciler.
	run := func(source gadgetSource) (reconciler *gadgetReconciler, removeSource func()) {
		GinkgoHelper()
		runOperator(operator, operatorOptions{
			generate: inputsInto,
			component: component.Options{
				Watching: component.Watching{Scope: component.WatchScopeNamespaces, Namespaces: []string{namespace}},
			},
			built: func(r *gadgetReconciler) {
				var err error
				reconciler = r
				removeSource, err = r.AddEventSource(eventsource.AsInput(source))
				Expect(err).NotTo(HaveOccurred())
			},
		})
		return reconciler, removeSource
	}

	It("an object in a namespace that the operator does not watch is an error, until the source names "+
		"the namespace", func(ctx SpecContext) {
		c := shared(ctx, elsewhere, "shared", "a")
		o := configMapOptions{Of: toShared(elsewhere), Part: contentOf, Whole: true}
		mark := markAudit(ctx)
		reconciler, removeSource := run(eventsource.Related("settings", o))
		g := newGadget(ctx, namespace, "app", "", servedBy(operator), retrySoon)
		message := "ConfigMap " + elsewhere + `/shared: namespace "` + elsewhere + `" is not watched, because it is not in ` +
			"Options.Watching.Namespaces; name the namespaces of these objects in RelatedOptions.Namespaces"
		expectCondition(ctx, g, metav1alpha1.ConditionInputStale, And(HavePrefix("True FetchFailed: settings: since "),
			HaveSuffix(message)))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring(message)))
		Expect(rendered(ctx, namespace)()).To(ContainSubstring("not found"), "the component was rendered without its value")

		By("naming the namespace in the source")
		removeSource()
		o.Namespaces = []string{elsewhere}
		_, err := reconciler.AddEventSource(eventsource.AsInput(eventsource.Related("settings", o)))
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"settings":[{"value":"a"}]}`))
		expectReady(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionInputStale, BeEmpty())
		patch(ctx, c, `{"data":{"value":"b"}}`)
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"settings":[{"value":"b"}]}`))
		watched := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("configmaps").Verb("list", "watch")
		Expect(watched.Where(func(e testcluster.Event) bool { return e.Namespace == elsewhere })).NotTo(BeEmpty())
		Expect(verbs(watched.Where(func(e testcluster.Event) bool {
			return e.Namespace != namespace && e.Namespace != elsewhere
		}))).To(BeEmpty(), "a watch on other namespaces")
	})

	It("all namespaces can be watched for related objects although components are watched "+
		"in some only", func(ctx SpecContext) {
		shared(ctx, elsewhere, "shared", "a")
		run(eventsource.Related("settings", configMapOptions{
			Of: toShared(elsewhere), Part: contentOf, Namespaces: []string{metav1.NamespaceAll},
		}))
		expectReady(ctx, newGadget(ctx, namespace, "app", "", servedBy(operator)))
		Expect(rendered(ctx, namespace)()).To(Equal(`{"settings":[{"value":"a"}]}`))
	})

	It("cluster-scoped related objects have one watch where components are watched in some "+
		"namespaces only", func(ctx SpecContext) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"zone": "a"}}}
		Expect(k8s.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, node))).To(Succeed()) })
		mark := markAudit(ctx)
		run(eventsource.Related("node", eventsource.RelatedOptions[*gadget.Gadget, *corev1.Node]{
			Of:   func(*gadget.Gadget) []client.ObjectKey { return []client.ObjectKey{{Name: namespace}} },
			Part: func(n *corev1.Node) any { return n.Labels["zone"] }, Namespaces: []string{namespace, elsewhere},
		}))
		expectReady(ctx, newGadget(ctx, namespace, "app", "", servedBy(operator)))
		Expect(rendered(ctx, namespace)()).To(Equal(`{"node":["a"]}`))
		patch(ctx, node, `{"metadata":{"labels":{"zone":"b"}}}`)
		Eventually(ctx, rendered(ctx, namespace)).Should(Equal(`{"node":["b"]}`))
		nodes := auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("nodes")
		Expect(nodes.Verb("watch").Code(200)).To(HaveLen(1))
	})

	It("a user of another configuration needs rights in the named namespaces only", func(ctx SpecContext) {
		c := shared(ctx, elsewhere, "shared", "a")
		shared(ctx, newNamespace(ctx), "shared", "other")
		user := newUser(ctx, operator+"-reader")
		permit(ctx, elsewhere, "read", operator+"-reader", "'' | configmaps | get, list, watch")
		mark := markAudit(ctx)
		run(eventsource.Related("settings", configMapOptions{
			All: true, Part: contentOf, Namespaces: []string{elsewhere},
			Cluster: func(context.Context, *gadget.Gadget) (*rest.Config, error) { return user, nil },
		}))
		expectReady(ctx, newGadget(ctx, namespace, "app", "", servedBy(operator)))
		Eventually(ctx, rendered(ctx, namespace)).Should(ContainSubstring(`{"value":"a"}`))
		patch(ctx, c, `{"data":{"value":"b"}}`)
		Eventually(ctx, rendered(ctx, namespace)).Should(ContainSubstring(`{"value":"b"}`))
		Expect(rendered(ctx, namespace)()).NotTo(ContainSubstring("other"))
		requests := auditEvents(ctx)[mark:].Where(func(e testcluster.Event) bool { return e.User == operator+"-reader" })
		Expect(requests).NotTo(BeEmpty())
		Expect(verbs(requests.Code(403))).To(BeEmpty())
	})
})
