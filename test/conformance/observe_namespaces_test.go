package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// twoNamespaces is an operator that watches two namespaces. It has the documented cluster-wide rights, and no rights in
// the two namespaces yet.
type twoNamespaces struct {
	operator, here, there string
	user                  *rest.Config
}

func newTwoNamespaces(ctx context.Context) *twoNamespaces {
	GinkgoHelper()
	var modest []string
	t := &twoNamespaces{operator: newOperatorName(), here: newNamespace(ctx), there: newNamespace(ctx)}
	t.user = newUser(ctx, t.operator)
	// The documented right to list and watch components in all namespaces is left out, because an operator needs this
	// right only if it starts while a namespace is being deleted.
	for _, rule := range documented("fairlead-operator-somewhere") {
		if strings.Contains(rule, "gadgets") {
			rule = strings.Replace(rule, "list, watch, ", "", 1)
		}
		modest = append(modest, rule)
	}
	permit(ctx, "", t.operator, t.operator, modest...)
	return t
}

// admit grants the operator its rights in namespaces.
func (t *twoNamespaces) admit(ctx context.Context, namespaces ...string) {
	GinkgoHelper()
	for _, namespace := range namespaces {
		permit(ctx, namespace, "operator", t.operator, documented("fairlead-operator")...)
	}
}

func (t *twoNamespaces) options() operatorOptions {
	return operatorOptions{
		user: t.user,
		component: component.Options{
			Watching: component.Watching{Scope: component.WatchScopeNamespaces, Namespaces: []string{t.here, t.there}},
		},
	}
}

// requests returns the operator's requests since mark.
func (t *twoNamespaces) requests(ctx context.Context, mark auditMark) testcluster.Events {
	GinkgoHelper()
	return auditEvents(ctx)[mark:].UserAgent(userAgent(t.operator)).Where(func(e testcluster.Event) bool {
		return e.Resource != "" && e.Resource != "leases" && e.Resource != "events"
	})
}

func valueOf(ctx context.Context, namespace, name string) func() any {
	return func() any { return content(ctx, "ConfigMap", namespace, name)["value"] }
}

var _ = Describe("An operator that watches some namespaces:", func() {
	var t *twoNamespaces
	BeforeEach(func(ctx SpecContext) { t = newTwoNamespaces(ctx) })

	It("an operator that watches only some namespaces repairs, prunes and deletes without the right to list or watch in "+
		"other namespaces", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		elsewhere := newNamespace(ctx)
		mark := markAudit(ctx)
		runOperator(t.operator, t.options())
		g := newGadget(ctx, t.here, "app", together(configMap("kept", "a"), configMap("pruned", "a"),
			configMapIn(t.there, "far", "a")), servedBy(t.operator))
		ignored := newGadget(ctx, elsewhere, "app", configMap("settings", "a"), servedBy(t.operator))
		expectReady(ctx, g)
		for _, namespace := range []string{t.here, t.there} {
			name := map[string]string{t.here: "kept", t.there: "far"}[namespace]
			patch(ctx, newConfigMap(namespace, name), `{"data":{"value":"drifted"}}`)
			Eventually(ctx, valueOf(ctx, namespace, name)).Should(Equal("a"))
		}
		changeManifests(ctx, g, together(configMap("kept", "b"), configMapIn(t.there, "far", "a")))
		Eventually(ctx, valueOf(ctx, t.here, "kept")).Should(Equal("b"))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, t.here)).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, t.here) + countConfigMaps(ctx, t.there)).To(BeZero())

		made := t.requests(ctx, mark)
		Expect(verbs(made.Code(403))).To(BeEmpty())
		Expect(verbs(made.Verb("list", "watch").Resource("gadgets", "configmaps", "secrets").
			Where(func(e testcluster.Event) bool {
				return e.Namespace != t.here && e.Namespace != t.there
			}))).To(BeEmpty())
		Expect(configMapWatches(made)).To(ConsistOf(t.here, t.there))
		Expect(current(ctx, ignored).Status.Conditions).To(BeEmpty())
	})

	It("dependents in other namespaces are read at the retry interval as the component's identity, which the "+
		"status reports", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		elsewhere := newNamespace(ctx)
		permit(ctx, t.here, "act", t.operator, rightToAct)
		account := serviceAccountUser(t.here, "deployer")
		for _, namespace := range []string{t.here, elsewhere} {
			permit(ctx, namespace, "deployer", account, rightsOnConfigs)
		}
		runOperator(t.operator, t.options())
		g := newGadget(ctx, t.here, "app", together(configMap("near", "a"), configMapIn(elsewhere, "far", "a")),
			servedBy(t.operator), asServiceAccount("deployer"), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("True Ready: 2 dependents are ready; read at the retry interval"),
				ContainSubstring(`User "`+t.operator+`" cannot list resource "configmaps" in API group "" in the namespace "`+
					elsewhere+`"`)))
		patch(ctx, newConfigMap(elsewhere, "far"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, valueOf(ctx, elsewhere, "far")).Should(Equal("a"))
		By("watching dependents in the other namespace when the right is granted")
		permit(ctx, elsewhere, "watch", t.operator, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("2 dependents are ready"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, elsewhere)).To(BeZero())
	})

	It("a restart lists and watches each kind once in each namespace, and reads no dependent", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		stop := runOperator(t.operator, t.options())
		g := newGadget(ctx, t.here, "app", together(configMaps("cm", 5, "a"), configMapIn(t.there, "far", "a")),
			servedBy(t.operator))
		expectReady(ctx, g)
		settle(ctx, t.operator)
		stop()
		mark, before := markAudit(ctx), passes(t.operator)
		runOperator(t.operator, t.options())
		Eventually(ctx, func() int { return passes(t.operator) - before }).Should(BeNumerically(">=", 1))
		settle(ctx, t.operator)
		made := t.requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(t.here, t.there))
		Expect(verbs(made.Where(func(e testcluster.Event) bool { return e.Verb != "list" && e.Verb != "watch" }))).
			To(BeEmpty())
	})

	It("an operator that watches only some namespaces finds the dependents after the "+
		"status was emptied", func(ctx SpecContext) {
		t.admit(ctx, t.here, t.there)
		stop := runOperator(t.operator, t.options())
		g := newGadget(ctx, t.here, "app", together(configMaps("cm", 3, "a"), configMapIn(t.there, "far", "a")),
			servedBy(t.operator))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		changeManifests(ctx, g, configMap("new", "a"))
		runOperator(t.operator, t.options())
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, t.here) + countConfigMaps(ctx, t.there) }).Should(Equal(1))
	})

	It("an operator starts although it has no rights in one of its namespaces, and reconciles components there when the "+
		"rights are granted", func(ctx SpecContext) {
		t.admit(ctx, t.here)
		runOperator(t.operator, t.options())
		expectReady(ctx, newGadget(ctx, t.here, "app", configMap("settings", "a"), servedBy(t.operator)))
		late := newGadget(ctx, t.there, "app", configMap("settings", "a"), servedBy(t.operator))
		t.admit(ctx, t.there)
		expectReady(ctx, late)
	})

	It("finalizers on Secrets of deleted components are removed in namespaces where the operator is allowed to "+
		"read components", func(ctx SpecContext) {
		t.admit(ctx, t.here)
		permit(ctx, t.there, "secrets", t.operator, "'' | secrets | list, watch")
		permit(ctx, t.here, "hold", t.operator, "'' | secrets | get, patch")
		for _, namespace := range []string{t.here, t.there} {
			create(ctx,
				fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: held, namespace: %[1]s, labels: {%[2]s/held: 'true'}, "+
					"finalizers: [%[2]s/nobody]}",
					namespace, t.operator))
		}
		runOperator(t.operator, t.options())
		finalizers := func(namespace string) []string {
			return mustGet(ctx, "v1", "Secret", namespace, "held").GetFinalizers()
		}
		Eventually(ctx, func() []string { return finalizers(t.here) }).Should(BeEmpty())
		Expect(finalizers(t.there)).To(HaveLen(1))
		patch(ctx, mustGet(ctx, "v1", "Secret", t.there, "held"), `{"metadata":{"finalizers":null}}`)
	})

	It("dependents are read after the right to watch them is withdrawn, and watched when it is "+
		"granted again", func(ctx SpecContext) {
		serving := slices.DeleteFunc(documented("fairlead-operator"), func(rule string) bool {
			return strings.Contains(rule,
				"configmaps")
		})
		permit(ctx, t.here, "act", t.operator, append(serving, rightToAct)...)
		permit(ctx, t.here, "watch", t.operator, "'' | configmaps | list, watch")
		permit(ctx, t.here, "deployer", serviceAccountUser(t.here, "deployer"), rightsOnConfigs)
		cutter := &scissors{}
		o := t.options()
		o.transport = cutter.wrap
		runOperator(t.operator, o)
		g := newGadget(ctx, t.here, "app", configMap("settings", "a"), servedBy(t.operator), asServiceAccount("deployer"),
			retrySoon)
		expectReady(ctx, g)
		withdraw(ctx, t.here, "watch")
		cutter.cut()
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("True Ready: "), ContainSubstring("allow list and watch")))
		patch(ctx, newConfigMap(t.here, "settings"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, valueOf(ctx, t.here, "settings")).Should(Equal("a"))
		permit(ctx, t.here, "again", t.operator, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("1 dependent is ready"))
	})
})
