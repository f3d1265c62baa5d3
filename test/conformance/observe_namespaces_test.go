package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("An operator that observes some namespaces", func() {
	var operator, here, there string
	var user *rest.Config
	BeforeEach(func(ctx SpecContext) {
		var modest []string
		operator, here, there = newOperatorName(), newNamespace(ctx), newNamespace(ctx)
		user = newUser(ctx, operator)
		// That it may list and watch components everywhere is for one that starts when a namespace is being deleted.
		for _, rule := range documented("fairlead-operator-somewhere") {
			if strings.Contains(rule, "gadgets") {
				rule = strings.Replace(rule, "list, watch, ", "", 1)
			}
			modest = append(modest, rule)
		}
		permit(ctx, "", operator, operator, modest...)
	})
	admit := func(ctx context.Context, namespaces ...string) {
		GinkgoHelper()
		for _, namespace := range namespaces {
			permit(ctx, namespace, "operator", operator, documented("fairlead-operator")...)
		}
	}
	options := func() operatorOptions {
		return operatorOptions{user: user, component: component.Options{Observe: component.ReachNamespaces, ObserveNamespaces: []string{here, there}}}
	}
	valueOf := func(ctx context.Context, namespace, name string) func() any {
		return func() any { return content(ctx, "ConfigMap", namespace, name)["value"] }
	}
	requests := func(ctx context.Context, mark auditMark) testcluster.Events {
		GinkgoHelper()
		return auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Where(func(e testcluster.Event) bool {
			return e.Resource != "" && e.Resource != "leases" && e.Resource != "events"
		})
	}

	It("needs no right to list or watch beyond them, and repairs, prunes and deletes as ever", func(ctx SpecContext) {
		admit(ctx, here, there)
		elsewhere := newNamespace(ctx)
		mark := markAudit(ctx)
		runOperator(operator, options())
		g := newGadget(ctx, here, "app", together(configMap("kept", "a"), configMap("pruned", "a"), configMapIn(there, "far", "a")), servedBy(operator))
		ignored := newGadget(ctx, elsewhere, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		for _, namespace := range []string{here, there} {
			name := map[string]string{here: "kept", there: "far"}[namespace]
			patch(ctx, newConfigMap(namespace, name), `{"data":{"value":"drifted"}}`)
			Eventually(ctx, valueOf(ctx, namespace, name)).Should(Equal("a"))
		}
		changeManifests(ctx, g, together(configMap("kept", "b"), configMapIn(there, "far", "a")))
		Eventually(ctx, valueOf(ctx, here, "kept")).Should(Equal("b"))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, here)).To(Equal(1))
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(countConfigMaps(ctx, here) + countConfigMaps(ctx, there)).To(BeZero())

		made := requests(ctx, mark)
		Expect(verbs(made.Code(403))).To(BeEmpty())
		Expect(verbs(made.Verb("list", "watch").Resource("gadgets", "configmaps", "secrets").Where(func(e testcluster.Event) bool {
			return e.Namespace != here && e.Namespace != there
		}))).To(BeEmpty())
		Expect(configMapWatches(made)).To(ConsistOf(here, there))
		Expect(current(ctx, ignored).Status.Conditions).To(BeEmpty())
	})

	It("reads dependents elsewhere at the retry interval, as the component's identity, which the status says", func(ctx SpecContext) {
		admit(ctx, here, there)
		elsewhere := newNamespace(ctx)
		permit(ctx, here, "act", operator, rightToAct)
		account := serviceAccountUser(here, "deployer")
		for _, namespace := range []string{here, elsewhere} {
			permit(ctx, namespace, "deployer", account, rightsOnConfigs)
		}
		runOperator(operator, options())
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(elsewhere, "far", "a")),
			servedBy(operator), asServiceAccount("deployer"), retrySoon)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("True Ready: 2 dependents are ready; read at the retry interval"),
			ContainSubstring(`User "`+operator+`" cannot list resource "configmaps" in API group "" in the namespace "`+elsewhere+`"`)))
		patch(ctx, newConfigMap(elsewhere, "far"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, valueOf(ctx, elsewhere, "far")).Should(Equal("a"))
		By("watching there once that is allowed")
		permit(ctx, elsewhere, "watch", operator, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("2 dependents are ready"))
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(countConfigMaps(ctx, elsewhere)).To(BeZero())
	})

	It("lists and watches each kind once in each namespace after a restart, and asks for no dependent", func(ctx SpecContext) {
		admit(ctx, here, there)
		stop := runOperator(operator, options())
		g := newGadget(ctx, here, "app", together(configMaps("cm", 5, "a"), configMapIn(there, "far", "a")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, options())
		Eventually(ctx, func() int { return passes(operator) - before }).Should(BeNumerically(">=", 1))
		settle(ctx, operator)
		made := requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(here, there))
		Expect(verbs(made.Where(func(e testcluster.Event) bool { return e.Verb != "list" && e.Verb != "watch" }))).To(BeEmpty())
	})

	It("finds its dependents when the status was emptied", func(ctx SpecContext) {
		admit(ctx, here, there)
		stop := runOperator(operator, options())
		g := newGadget(ctx, here, "app", together(configMaps("cm", 3, "a"), configMapIn(there, "far", "a")), servedBy(operator))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		changeManifests(ctx, g, configMap("new", "a"))
		runOperator(operator, options())
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, here) + countConfigMaps(ctx, there) }).Should(Equal(1))
	})

	It("lets a component go with its namespace, although its rights there go as well", func(ctx SpecContext) {
		admit(ctx, here, there)
		cutter := &scissors{}
		o := options()
		o.transport = cutter.wrap
		runOperator(operator, o)
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(there, "far", "a")), servedBy(operator), retrySoon)
		other := newGadget(ctx, there, "other", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		expectReady(ctx, other)
		// What the namespace controller may do first.
		withdraw(ctx, here, "operator")
		remove(ctx, g)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", here))
		cutter.cut()
		expectGone(ctx, g)
		expectGone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})
		Expect(countConfigMaps(ctx, there)).To(Equal(1), "what was in another namespace is deleted, and what others have there stays")

		By("serving the namespace when it comes back")
		Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})).To(Succeed())
		admit(ctx, here)
		expectReady(ctx, newGadget(ctx, here, "app", configMap("near", "a"), servedBy(operator)))
	})

	It("lets a component go with its namespace, although it starts when its rights there are gone", func(ctx SpecContext) {
		permit(ctx, "", operator+"-starts", operator, documented("fairlead-operator-somewhere")...)
		admit(ctx, here, there)
		stop := runOperator(operator, options())
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(there, "far", "a")), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		stop()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", here))
		Eventually(ctx, func() error {
			_, err := get(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", here, "operator")
			return err
		}).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		runOperator(operator, options())
		expectGone(ctx, g)
		expectGone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})
		Expect(countConfigMaps(ctx, there)).To(BeZero())
	})

	It("lets a component go with its namespace that has records in Secrets, which are held by nobody who could not let go of them", func(ctx SpecContext) {
		admit(ctx, here, there)
		permit(ctx, here, "records", operator, "'' | secrets | get, create, patch, delete")
		cutter := &scissors{}
		o := options()
		o.transport = cutter.wrap
		runOperator(operator, o)
		last := strings.Replace(configMap("last", "a", postDelete(operator)), "name: last", "name: last\n  namespace: "+there, 1)
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(there, "far", "a"), last), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		Expect(records(ctx, here)).To(And(HaveLen(1), HaveEach(HaveField("Finalizers", BeEmpty()))))
		// What the namespace controller may do first.
		withdraw(ctx, here, "operator")
		withdraw(ctx, here, "records")
		remove(ctx, g)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", here))
		cutter.cut()
		expectGone(ctx, g)
		expectGone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})
		Expect(countConfigMaps(ctx, there)).To(BeZero())
	})

	It("finds what is in other namespaces when it may not read a large inventory any more, whose namespace is being deleted", func(ctx SpecContext) {
		admit(ctx, here, there)
		permit(ctx, here, "serve", operator, slices.DeleteFunc(documented("fairlead-operator"), func(rule string) bool { return strings.Contains(rule, "'' ") })...)
		permit(ctx, here, "records", operator, "'' | secrets | get, create, patch, delete")
		o := options()
		o.component.StatusInventory = -1
		stop := runOperator(operator, o)
		g := newGadget(ctx, here, "app", together(configMap("near", "a"), configMapIn(there, "far", "a")), servedBy(operator), retrySoon)
		expectReady(ctx, g)
		Expect(inventories(ctx, here)).To(And(HaveLen(1), HaveEach(HaveField("Finalizers", BeEmpty()))))
		stop()
		withdraw(ctx, here, "operator")
		withdraw(ctx, here, "records")
		runOperator(operator, o)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False Retrying"), ContainSubstring(`cannot get resource "secrets"`)))
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", here))
		expectGone(ctx, g)
		expectGone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here}})
		Expect(countConfigMaps(ctx, there)).To(BeZero())
	})

	It("starts without a namespace that it may not see, and serves it as soon as it may", func(ctx SpecContext) {
		admit(ctx, here)
		runOperator(operator, options())
		expectReady(ctx, newGadget(ctx, here, "app", configMap("settings", "a"), servedBy(operator)))
		late := newGadget(ctx, there, "app", configMap("settings", "a"), servedBy(operator))
		admit(ctx, there)
		expectReady(ctx, late)
	})

	It("lets go of Secrets whose component is gone, also where it may not look at components elsewhere", func(ctx SpecContext) {
		admit(ctx, here)
		permit(ctx, there, "secrets", operator, "'' | secrets | list, watch")
		permit(ctx, here, "hold", operator, "'' | secrets | get, patch")
		for _, namespace := range []string{here, there} {
			create(ctx, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: held, namespace: %[1]s, labels: {%[2]s/held: 'true'}, finalizers: [%[2]s/nobody]}",
				namespace, operator))
		}
		runOperator(operator, options())
		finalizers := func(namespace string) []string {
			return mustGet(ctx, "v1", "Secret", namespace, "held").GetFinalizers()
		}
		Eventually(ctx, func() []string { return finalizers(here) }).Should(BeEmpty())
		Expect(finalizers(there)).To(HaveLen(1))
		patch(ctx, mustGet(ctx, "v1", "Secret", there, "held"), `{"metadata":{"finalizers":null}}`)
	})

	It("reads dependents when its rights are taken, and watches them when they come back", func(ctx SpecContext) {
		serving := slices.DeleteFunc(documented("fairlead-operator"), func(rule string) bool { return strings.Contains(rule, "configmaps") })
		permit(ctx, here, "act", operator, append(serving, rightToAct)...)
		permit(ctx, here, "watch", operator, "'' | configmaps | list, watch")
		permit(ctx, here, "deployer", serviceAccountUser(here, "deployer"), rightsOnConfigs)
		cutter := &scissors{}
		o := options()
		o.transport = cutter.wrap
		runOperator(operator, o)
		g := newGadget(ctx, here, "app", configMap("settings", "a"), servedBy(operator), asServiceAccount("deployer"), retrySoon)
		expectReady(ctx, g)
		withdraw(ctx, here, "watch")
		cutter.cut()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("True Ready: "), ContainSubstring("allow list and watch")))
		patch(ctx, newConfigMap(here, "settings"), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, valueOf(ctx, here, "settings")).Should(Equal("a"))
		permit(ctx, here, "again", operator, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("1 dependent is ready"))
	})
})
