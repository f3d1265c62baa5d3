package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// publishing lets a gadget publish exports in its status.
func publishing(names ...string) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.Exports = names }
}

// published returns the published exports in the status of a gadget, as JSON.
func published(ctx context.Context, g *gadget.Gadget) string {
	GinkgoHelper()
	data, err := json.Marshal(current(ctx, g).Status.Exports)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

var _ = Describe("Published exports of a component:", func() {
	const address = "self.status.loadBalancer.ingress[0].ip"
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	exports := func(expressions string) string { return settingOf(operator, "export", expressions) }

	It("are in the status as long as the component publishes them, also after their values "+
		"have vanished", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		service := balancedService(namespace,
			exports("dbHost="+address+", dbPort=self.spec.ports[0].port, db={'tls': false, 'n': null}"))
		g := newGadget(ctx, namespace, "app", service, servedBy(operator), publishing("dbHost", "dbPort", "db"))
		expectReady(ctx, g)
		Expect(published(ctx, g)).To(Equal(`{"db":{"n":null,"tls":false},"dbPort":80}`))
		assignAddress(ctx, namespace, "10.0.0.1")
		const first = `{"db":{"n":null,"tls":false},"dbHost":"10.0.0.1","dbPort":80}`
		Eventually(ctx, func() string { return published(ctx, g) }).Should(Equal(first))
		expectReady(ctx, g)
		settle(ctx, operator)

		mark := markAudit(ctx)
		assignAddress(ctx, namespace, "10.0.0.2")
		const second = `{"db":{"n":null,"tls":false},"dbHost":"10.0.0.2","dbPort":80}`
		Eventually(ctx, func() string { return published(ctx, g) }).Should(Equal(second))
		settle(ctx, operator)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace)).To(HaveLen(1),
			"a new value costs one write of the status")

		assignAddress(ctx, namespace, "")
		settle(ctx, operator)
		Expect(published(ctx, g)).To(Equal(second))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HavePrefix("Unknown Suspended"))
		Expect(published(ctx, g)).To(Equal(second))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(published(ctx, g)).To(Equal(second))

		stop()
		mark = markAudit(ctx)
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes()).To(BeEmpty(), "a restart writes nothing")
		Expect(published(ctx, g)).To(Equal(second))
		assignAddress(ctx, namespace, "10.0.0.2")
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		mark = markAudit(ctx)
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Writes()).To(BeEmpty(),
			"equal values are not written")
		change(ctx, g, publishing("db"))
		Eventually(ctx, func() string { return published(ctx, g) }).Should(Equal(`{"db":{"n":null,"tls":false}}`))
		stop()
	})

	It("are refused before the first write if they are values of Secrets, or if nothing "+
		"exports them", func(ctx SpecContext) {
		const password = "correct-horse-battery"
		runOperator(operator, operatorOptions{})
		secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, annotations: {" +
			exports("password=self.stringData.password") +
			"}}\nstringData: {password: " + password + "}"
		g := newGadget(ctx, namespace, "app", secret, servedBy(operator), publishing("password", "nobody"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False InvalidSpec"),
			ContainSubstring("export password of Secret "+namespace+"/credentials, but values of Secrets are never published"),
			ContainSubstring(`export "nobody", but none of its manifests exports it`)))
		secrets := &corev1.SecretList{}
		Expect(k8s.List(ctx, secrets, client.InNamespace(namespace))).To(Succeed())
		Expect(secrets.Items).To(BeEmpty())
		change(ctx, g, publishing())
		expectReady(ctx, g)
		change(ctx, g, publishing("password"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, HavePrefix("False InvalidSpec"))
		events := &corev1.EventList{}
		Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
		Expect(fmt.Sprint(current(ctx, g).Status, events.Items)).NotTo(ContainSubstring(password))
	})

	It("reach other components: a new value costs a read, a rendering and a write, and a restart "+
		"costs a read", func(ctx SpecContext) {
		options := operatorOptions{generate: generator.GeneratorFunc(
			func(ctx context.Context, req generator.Request) ([]client.Object, error) {
				if len(req.References) == 0 {
					return gadget.Generate(ctx, req)
				}
				return copyReferences(ctx, req)
			})}
		stop := runOperator(operator, options)
		db := newGadget(ctx, namespace, "db",
			balancedService(namespace, exports("host="+address+", port=self.spec.ports[0].port")),
			servedBy(operator), publishing("host", "port"))
		web := newGadget(ctx, namespace, "web", "", servedBy(operator), func(g *gadget.Gadget) {
			g.Spec.References = []metav1alpha1.Reference{
				{Kind: metav1alpha1.ComponentReference, Type: "Gadget.gadgets.example.com", Name: "db", Export: "host"},
				{
					Kind: metav1alpha1.ComponentReference, Type: "Gadget.gadgets.example.com", Name: "db", Export: "port",
					Optional: true,
				},
			}
		})
		Eventually(ctx, func() string { return published(ctx, db) }).Should(Equal(`{"port":80}`))
		expectCondition(ctx, web, metav1alpha1.ConditionReady,
			Equal("False ExportMissing: it waits for export host of Gadget "+
				namespace+"/db: the component has published no value yet; it has published port"))
		settle(ctx, operator)
		mark := markAudit(ctx)
		settle(ctx, operator)
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace)).To(BeEmpty(), "nothing is polled")
		assignAddress(ctx, namespace, "10.0.0.1")
		copied := func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "copy").Object["data"] }
		expectReady(ctx, web)
		Expect(copied()).To(Equal(map[string]any{"Component-db-host": `"10.0.0.1"`, "Component-db-port": "80"}))
		settle(ctx, operator)

		mark = markAudit(ctx)
		assignAddress(ctx, namespace, "10.0.0.2")
		Eventually(ctx, copied).Should(HaveKeyWithValue("Component-db-host", `"10.0.0.2"`))
		settle(ctx, operator)
		requests := inNamespace(requestsSince(ctx, mark, operator), namespace)
		Expect(verbs(requests.Resource("configmaps"))).To(Equal([]string{"patch configmaps 200"}), "one write")
		Expect(verbs(requests.Verb("get"))).To(Equal([]string{"get gadgets 200"}), "one read")
		Expect(current(ctx, web).Status.Revision).To(Equal(int64(2)), "one rendering")

		stop()
		mark = markAudit(ctx)
		stop = runOperator(operator, options)
		for _, g := range []*gadget.Gadget{db, web} {
			requestPass(ctx, g, operator)
		}
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(Equal([]string{"get gadgets 200"}))

		mark = markAudit(ctx)
		Expect(k8s.Delete(ctx, db)).To(Succeed())
		expectCondition(ctx, web, metav1alpha1.ConditionReady,
			And(HavePrefix("False ExportMissing: it waits for export host of Gadget "+
				namespace+"/db: the component does not exist"), HaveSuffix("; the applied objects stay as they are")))
		settle(ctx, operator)
		Expect(copied()).To(HaveKeyWithValue("Component-db-host", `"10.0.0.2"`))
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes()).To(BeEmpty())
		stop()
	})

	It("are awaited without a timeout", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{generate: generator.GeneratorFunc(copyReferences)})
		web := newGadget(ctx, namespace, "web", "", servedBy(operator), func(g *gadget.Gadget) {
			g.Spec.Timeout = &metav1.Duration{Duration: time.Millisecond}
			g.Spec.References = []metav1alpha1.Reference{{
				Kind: metav1alpha1.ComponentReference, Type: "Gadget.gadgets.example.com", Name: "db", Export: "host",
			}}
		})
		expectCondition(ctx, web, metav1alpha1.ConditionReady, HavePrefix("False ExportMissing"))
		requestPass(ctx, web, operator)
		settle(ctx, operator)
		Expect(current(ctx, web).Status.Status).
			To(And(HaveField("State", metav1alpha1.StateProgressing), HaveField("ProgressingSince", BeNil())))
	})

	It("keep their previous values if the values are together too large", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("a", "x", exports("a=self.data.value")), servedBy(operator),
			publishing("a"))
		Eventually(ctx, func() string { return published(ctx, g) }).Should(Equal(`{"a":"x"}`))
		text, names := "", []string{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			names = append(names, name)
			text = together(text, configMap(name, "x",
				exports(name+"=['x','x','x','x'].map(v, '"+fmt.Sprintf("%0900d", 0)+"')")))
		}
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Manifests, g.Spec.Exports = text, names })
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(HavePrefix("False InvalidSpec"), ContainSubstring("more than 16384")))
		Expect(published(ctx, g)).To(Equal(`{"a":"x"}`))
		change(ctx, g, publishing("b"))
		expectReady(ctx, g)
		Expect(published(ctx, g)).To(HavePrefix(`{"b":["000`))
	})
})
