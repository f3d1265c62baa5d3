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

// tenancy is an operator that watches as the components' identities and has the documented rights, and a namespace with
// an identity that has no rights.
type tenancy struct {
	operator, namespace, account string
	options                      operatorOptions
	cutter                       *scissors
}

func newTenancy(ctx context.Context) *tenancy {
	GinkgoHelper()
	t := &tenancy{operator: newOperatorName(), namespace: newNamespace(ctx), cutter: &scissors{}}
	t.account = serviceAccountUser(t.namespace, "deployer")
	permit(ctx, "", t.operator, t.operator, documented("fairlead-operator-tenants")...)
	t.options = operatorOptions{
		user: newUser(ctx, t.operator), transport: t.cutter.wrap,
		component: component.Options{Watching: component.Watching{Scope: component.WatchScopeIdentity}},
	}
	return t
}

// requests returns the operator's requests since mark.
func (t *tenancy) requests(ctx context.Context, mark auditMark) testcluster.Events {
	GinkgoHelper()
	return auditEvents(ctx)[mark:].UserAgent(userAgent(t.operator))
}

// newGadget creates a component that acts as the identity.
func (t *tenancy) newGadget(ctx context.Context, text string, edits ...func(*gadget.Gadget)) *gadget.Gadget {
	GinkgoHelper()
	return newGadget(ctx, t.namespace, "app", text,
		append([]func(*gadget.Gadget){servedBy(t.operator), asServiceAccount("deployer"), retrySoon}, edits...)...)
}

// drifts changes a ConfigMap as another client, and expects that the operator repairs the ConfigMap.
func drifts(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	patch(ctx, newConfigMap(namespace, name), `{"data":{"value":"drifted"}}`)
	Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, name)["value"] }).Should(Equal("a"))
}

var _ = Describe("An operator that watches as the components' identities:", func() {
	var t *tenancy
	BeforeEach(func(ctx SpecContext) { t = newTenancy(ctx) })

	It("an operator that watches as identities needs no rights on dependents", func(ctx SpecContext) {
		other := newNamespace(ctx)
		for _, namespace := range []string{t.namespace, other} {
			permit(ctx, namespace, "deployer", t.account, rightsOnConfigs)
		}
		mark := markAudit(ctx)
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, together(configMap("kept", "a"), configMap("pruned", "a"), configMapIn(other, "far", "a")))
		expectReady(ctx, g)
		drifts(ctx, t.namespace, "kept")
		drifts(ctx, other, "far")
		changeManifests(ctx, g, together(configMap("kept", "a"), configMapIn(other, "far", "a")))
		expectReady(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace)).To(Equal(1))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, t.namespace) + countConfigMaps(ctx, other)).To(BeZero())

		made := t.requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(t.account+" "+t.namespace, t.account+" "+other))
		Expect(verbs(made.Resource("configmaps").As(""))).To(BeEmpty())
		Expect(verbs(made.Resource("configmaps").Code(403))).To(BeEmpty())
	})

	It("the components of an identity in a namespace share a watch, and other identities "+
		"have their own", func(ctx SpecContext) {
		second := serviceAccountUser(t.namespace, "second")
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		permit(ctx, t.namespace, "second", second, rightsOnConfigs)
		mark := markAudit(ctx)
		runOperator(t.operator, t.options)
		for name, as := range map[string]string{"one": "deployer", "two": "deployer", "three": "second"} {
			expectReady(ctx, newGadget(ctx, t.namespace, name, configMap(name, "a"), servedBy(t.operator), asServiceAccount(as)))
		}
		settle(ctx, t.operator)
		Expect(configMapWatches(t.requests(ctx, mark))).To(ConsistOf(t.account+" "+t.namespace, second+" "+t.namespace))
		By("watching the dependents of another identity")
		thief := newGadget(ctx, t.namespace, "thief", configMap("three", "a"), servedBy(t.operator),
			asServiceAccount("deployer"))
		expectCondition(ctx, thief, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
	})

	It("when the identity of a component changes, its dependents are watched as the new "+
		"identity at once", func(ctx SpecContext) {
		second := serviceAccountUser(t.namespace, "second")
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		permit(ctx, t.namespace, "second", second, rightsOnConfigs)
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, configMap("settings", "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		change(ctx, g, asServiceAccount("second"))
		expectReady(ctx, g)
		withdraw(ctx, t.namespace, "deployer")
		t.cutter.cut()
		drifts(ctx, t.namespace, "settings")
		expectReady(ctx, g)
		made := t.requests(ctx, mark).Resource("configmaps")
		Expect(verbs(made.As(t.account).Verb("list", "watch"))).To(BeEmpty(),
			"the watch of the previous identity was opened again")
		Expect(verbs(made.As(second).Verb("get"))).To(BeEmpty())
	})

	It("a restart lists and watches each kind once for each identity, and reads no dependent", func(ctx SpecContext) {
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		stop := runOperator(t.operator, t.options)
		expectReady(ctx, t.newGadget(ctx, configMaps("cm", 5, "a")))
		settle(ctx, t.operator)
		stop()
		mark, before := markAudit(ctx), passes(t.operator)
		runOperator(t.operator, t.options)
		Eventually(ctx, func() int { return passes(t.operator) - before }).Should(BeNumerically(">=", 1))
		settle(ctx, t.operator)
		made := t.requests(ctx, mark)
		Expect(configMapWatches(made)).To(ConsistOf(t.account + " " + t.namespace))
		Expect(verbs(made.Where(func(e testcluster.Event) bool {
			return e.Resource != "" && e.Resource != "events" && e.Verb != "list" && e.Verb != "watch"
		}))).To(BeEmpty())
	})

	It("the dependents of an identity are found after the status was emptied", func(ctx SpecContext) {
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs)
		stop := runOperator(t.operator, t.options)
		g := t.newGadget(ctx, configMaps("cm", 3, "a"))
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		changeManifests(ctx, g, configMap("new", "a"))
		runOperator(t.operator, t.options)
		expectReady(ctx, g)
		Eventually(ctx, func() int { return countConfigMaps(ctx, t.namespace) }).Should(Equal(1))
	})

	It("references and looked-up objects are watched as the component's identity", func(ctx SpecContext) {
		create(ctx, together("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: "+t.namespace+
			"}\nstringData: {k: hush}",
			configMapIn(t.namespace, "looked-up", "a")))
		permit(ctx, t.namespace, "deployer", t.account, rightsOnConfigs, "'' | secrets | get, list, watch")
		t.options.generate = generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object,
			error,
		) {
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
		runOperator(t.operator, t.options)
		expectReady(ctx, t.newGadget(ctx,
			"", func(g *gadget.Gadget) { g.Spec.References = []metav1alpha1.Reference{{Kind: "Secret", Name: "s"}} }))
		patch(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "s"}},
			`{"stringData":{"k":"sh"}}`)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", t.namespace, "copy")["Secret-s-k"] }).
			Should(Equal("sh"))
		patch(ctx, newConfigMap(t.namespace, "looked-up"), `{"data":{"value":"b"}}`)
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", t.namespace, "seen")["value"] }).Should(Equal("b"))
		made := inNamespace(t.requests(ctx, mark), t.namespace).Resource("configmaps", "secrets")
		Expect(made.As(t.account)).NotTo(BeEmpty())
		Expect(verbs(made.As(""))).To(BeEmpty())
	})

	It("foreign instances are listed as the component's identity, and nothing is deleted before the identity has the "+
		"right to list instances in all namespaces", func(ctx SpecContext) {
		group := newGroup()
		permit(ctx, "", t.operator+"-guard", t.operator, "apiextensions.k8s.io | customresourcedefinitions | create",
			"admissionregistration.k8s.io | validatingadmissionpolicies, validatingadmissionpolicybindings | get, list, "+
				"create, patch, delete")
		permit(ctx, "", t.operator+"-tenant", t.account,
			"apiextensions.k8s.io | customresourcedefinitions | get, list, watch, create, patch, delete")
		runOperator(t.operator, t.options)
		g := t.newGadget(ctx, widgetDefinition(group))
		expectReady(ctx, g)
		foreign := create(ctx, strings.Replace(widget(group, "theirs"), "name: theirs",
			"name: theirs, namespace: "+newNamespace(ctx), 1))
		remove(ctx, g)
		blocked := func(message string) {
			GinkgoHelper()
			expectCondition(ctx, g, metav1alpha1.ConditionReady, And(ContainSubstring("ForeignInstances"),
				ContainSubstring(message)))
		}
		blocked(`User "` + t.account + `" cannot list resource "widgets" in API group "` + group + `" at the cluster scope`)
		permit(ctx, "", t.operator+"-widgets", t.account, group+" | widgets | get, list, watch")
		blocked("theirs")
		remove(ctx, foreign[0])
		expectNotFound(ctx, g)
		Expect(verbs(t.requests(ctx, 0).Resource("widgets").As(""))).To(BeEmpty())
	})
})

// configMapOf returns a ConfigMap with a value, as a generator returns it.
func configMapOf(name, value string) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]any{"value": value},
	}}
}
