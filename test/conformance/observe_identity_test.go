package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("An operator that observes as the components' identities", func() {
	var operator, tenant, account string
	var options operatorOptions
	var cutter *scissors
	BeforeEach(func(ctx SpecContext) {
		operator, tenant, cutter = newOperatorName(), newNamespace(ctx), &scissors{}
		account = serviceAccountUser(tenant, "deployer")
		permit(ctx, "", operator, operator, documented("fairlead-operator-tenants")...)
		options = operatorOptions{
			user: newUser(ctx, operator), component: component.Options{Observe: component.ReachIdentity}, transport: cutter.wrap,
		}
	})
	requests := func(ctx context.Context, mark auditMark) testcluster.Events {
		GinkgoHelper()
		return auditEvents(ctx)[mark:].UserAgent(userAgent(operator))
	}
	newTenant := func(ctx context.Context, text string, edits ...func(*gadget.Gadget)) *gadget.Gadget {
		GinkgoHelper()
		return newGadget(ctx, tenant, "app", text, append([]func(*gadget.Gadget){servedBy(operator), asServiceAccount("deployer"), retrySoon}, edits...)...)
	}
	drifts := func(ctx context.Context, namespace, name string) {
		GinkgoHelper()
		patch(ctx, newConfigMap(namespace, name), `{"data":{"value":"drifted"}}`)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, name)["value"] }).Should(Equal("a"))
	}

	It("needs no rights of its own on what components have", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{tenant, other} {
			permit(ctx, namespace, "deployer", account, rightsOnConfigs)
		}
		mark := markAudit(ctx)
		runOperator(operator, options)
		g := newTenant(ctx, together(configMap("kept", "a"), configMap("pruned", "a"), configMapIn(other, "far", "a")))
		expectReady(ctx, g)
		drifts(ctx, tenant, "kept")
		drifts(ctx, other, "far")
		changeManifests(ctx, g, together(configMap("kept", "a"), configMapIn(other, "far", "a")))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, tenant)).To(Equal(1))
		remove(ctx, g)
		expectGone(ctx, g)
		Expect(countConfigMaps(ctx, tenant) + countConfigMaps(ctx, other)).To(BeZero())

		made := requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(account+" "+tenant, account+" "+other))
		Expect(verbs(made.Resource("configmaps").As(""))).To(BeEmpty())
		Expect(verbs(made.Resource("configmaps").Code(403))).To(BeEmpty())
	})

	It("shares a watch among the components of an identity in a namespace, and with no other", func(ctx SpecContext) {
		second := serviceAccountUser(tenant, "second")
		permit(ctx, tenant, "deployer", account, rightsOnConfigs)
		permit(ctx, tenant, "second", second, rightsOnConfigs)
		mark := markAudit(ctx)
		runOperator(operator, options)
		for name, as := range map[string]string{"one": "deployer", "two": "deployer", "three": "second"} {
			expectReady(ctx, newGadget(ctx, tenant, name, configMap(name, "a"), servedBy(operator), asServiceAccount(as)))
		}
		settle(ctx, operator)
		Expect(configMapWatches(requests(ctx, mark))).To(ConsistOf(account+" "+tenant, second+" "+tenant))
		By("seeing what another identity has")
		thief := newGadget(ctx, tenant, "thief", configMap("three", "a"), servedBy(operator), asServiceAccount("deployer"))
		expectCondition(ctx, thief, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
	})

	It("watches as another identity as soon as the component names one", func(ctx SpecContext) {
		second := serviceAccountUser(tenant, "second")
		permit(ctx, tenant, "deployer", account, rightsOnConfigs)
		permit(ctx, tenant, "second", second, rightsOnConfigs)
		runOperator(operator, options)
		g := newTenant(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		change(ctx, g, asServiceAccount("second"))
		expectReady(ctx, g)
		withdraw(ctx, tenant, "deployer")
		cutter.cut()
		drifts(ctx, tenant, "settings")
		expectReady(ctx, g)
		made := requests(ctx, mark).Resource("configmaps")
		Expect(verbs(made.As(account).Verb("list", "watch"))).To(BeEmpty(), "the watch of the former identity has ended")
		Expect(verbs(made.As(second).Verb("get"))).To(BeEmpty())
	})

	It("lists and watches each kind once for each identity after a restart, and asks for no dependent", func(ctx SpecContext) {
		permit(ctx, tenant, "deployer", account, rightsOnConfigs)
		stop := runOperator(operator, options)
		expectReady(ctx, newTenant(ctx, configMaps("cm", 5, "a")))
		settle(ctx, operator)
		stop()
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, options)
		Eventually(ctx, func() int { return passes(operator) - before }).Should(BeNumerically(">=", 1))
		settle(ctx, operator)
		made := requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(account + " " + tenant))
		Expect(verbs(made.Where(func(e testcluster.Event) bool {
			return e.Resource != "" && e.Resource != "events" && e.Verb != "list" && e.Verb != "watch"
		}))).To(BeEmpty())
	})

	It("reads as the identity when that may not watch any more, and watches when it may again", func(ctx SpecContext) {
		permit(ctx, tenant, "deployer", account, "'' | configmaps | get, create, patch, delete")
		permit(ctx, tenant, "watch", account, "'' | configmaps | list, watch")
		runOperator(operator, options)
		g := newTenant(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		withdraw(ctx, tenant, "watch")
		cutter.cut()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("True Ready: 1 dependent is ready; read at the retry interval"),
			ContainSubstring(`User "`+account+`" cannot list resource "configmaps"`), ContainSubstring("allow list and watch")))
		drifts(ctx, tenant, "settings")
		permit(ctx, tenant, "again", account, "'' | configmaps | list, watch")
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HaveSuffix("1 dependent is ready"))
		Expect(verbs(requests(ctx, mark).Resource("configmaps").As(""))).To(BeEmpty())
	})

	It("lets a component go with its namespace, although its identity has lost its rights", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{tenant, other} {
			permit(ctx, namespace, "deployer", account, rightsOnConfigs)
		}
		permit(ctx, "", operator+"-records", operator, "'' | secrets | get, list, watch, create, patch, delete")
		runOperator(operator, options)
		g := newTenant(ctx, together(configMap("near", "a"), configMapIn(other, "far", "a"),
			configMap("before", "a", preDelete(operator)), configMap("after", "a", postDelete(operator))))
		expectReady(ctx, g)
		withdraw(ctx, tenant, "deployer")
		cutter.cut()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", tenant))
		expectGone(ctx, g)
		expectGone(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}})
		Expect(countConfigMaps(ctx, other)).To(BeZero())
	})

	It("waits for the end of another namespace where it may not see what is left in it", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{tenant, other} {
			permit(ctx, namespace, "deployer", account, rightsOnConfigs)
		}
		runOperator(operator, options)
		g := newTenant(ctx, together(configMapIn(other, "far", "a"), configMap("controller", "a", operator+`/apply-order: "-1"`)))
		expectReady(ctx, g)
		far := mustGet(ctx, "v1", "ConfigMap", other, "far")
		hold(ctx, far)
		withdraw(ctx, other, "deployer")
		cutter.cut()
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", other))
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("ConfigMap "+other+"/far"), ContainSubstring(account)))
		Expect(countConfigMaps(ctx, tenant)).To(Equal(1), "what may let go of it is still there")
		letGo(ctx, far)
		expectGone(ctx, g)
		Expect(countConfigMaps(ctx, tenant)).To(BeZero())
	})

	It("does not take dependents for gone that the identity may not see, while their namespace stays", func(ctx SpecContext) {
		permit(ctx, tenant, "deployer", account, rightsOnConfigs)
		runOperator(operator, options)
		g := newTenant(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		withdraw(ctx, tenant, "deployer")
		cutter.cut()
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed: cannot be deleted: ConfigMap "+tenant+"/settings"),
			ContainSubstring(account)))
		permit(ctx, tenant, "again", account, rightsOnConfigs)
		expectGone(ctx, g)
		Expect(countConfigMaps(ctx, tenant)).To(BeZero())
	})

	It("finds its dependents when the status was emptied", func(ctx SpecContext) {
		permit(ctx, tenant, "deployer", account, rightsOnConfigs)
		stop := runOperator(operator, options)
		g := newTenant(ctx, configMaps("cm", 3, "a"))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		changeManifests(ctx, g, configMap("new", "a"))
		runOperator(operator, options)
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, tenant) }).Should(Equal(1))
	})

	It("watches what components reference and look up as their identity, too", func(ctx SpecContext) {
		create(ctx, together("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: "+tenant+"}\nstringData: {k: hush}",
			configMapIn(tenant, "looked-up", "a")))
		permit(ctx, tenant, "deployer", account, rightsOnConfigs, "'' | secrets | get, list, watch")
		options.generate = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
			objects, err := copyReferences.Generate(ctx, req)
			if err != nil {
				return nil, err
			}
			found, err := req.Target.Get(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), req.Namespace, "looked-up")
			if err != nil {
				return nil, err
			}
			value, _, _ := unstructured.NestedString(found.Object, "data", "value")
			return append(objects, configMapOf("seen", value)), nil
		})
		mark := markAudit(ctx)
		runOperator(operator, options)
		expectReady(ctx, newTenant(ctx, "", func(g *gadget.Gadget) { g.Spec.References = []metav1alpha1.Reference{{Kind: "Secret", Name: "s"}} }))
		patch(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "s"}}, `{"stringData":{"k":"sh"}}`)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", tenant, "copy")["Secret-s-k"] }).Should(Equal("sh"))
		patch(ctx, newConfigMap(tenant, "looked-up"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", tenant, "seen")["value"] }).Should(Equal("b"))
		made := inNamespace(requests(ctx, mark), tenant).Resource("configmaps", "secrets")
		Expect(made.As(account)).NotTo(BeEmpty())
		Expect(verbs(made.As(""))).To(BeEmpty())
	})

	It("asks the identity for foreign instances of what a component defines, and deletes nothing before it may see all", func(ctx SpecContext) {
		group := newGroup()
		permit(ctx, "", operator+"-guard", operator, "apiextensions.k8s.io | customresourcedefinitions | create",
			"admissionregistration.k8s.io | validatingadmissionpolicies, validatingadmissionpolicybindings | create, patch, delete")
		permit(ctx, "", operator+"-tenant", account, "apiextensions.k8s.io | customresourcedefinitions | get, list, watch, create, patch, delete")
		runOperator(operator, options)
		g := newTenant(ctx, widgetDefinition(group))
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "theirs"), "name: theirs", "name: theirs, namespace: "+newNamespace(ctx), 1))
		remove(ctx, g)
		blocked := func(message string) {
			GinkgoHelper()
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("ForeignInstances"), ContainSubstring(message)))
		}
		blocked(`User "` + account + `" cannot list resource "widgets" in API group "` + group + `" at the cluster scope`)
		permit(ctx, "", operator+"-widgets", account, group+" | widgets | list, watch")
		blocked("theirs")
		remove(ctx, foreign[0])
		expectGone(ctx, g)
		Expect(verbs(requests(ctx, 0).Resource("widgets").As(""))).To(BeEmpty())
	})
})

// configMapOf is a ConfigMap with a value, as generators render it.
func configMapOf(name, value string) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": value},
	}}
}
