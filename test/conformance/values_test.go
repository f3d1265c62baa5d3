package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Values that flow between objects:", func() {
	const address = "self.status.loadBalancer.ingress[0].ip"
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	bind := func() string { return settingOf(operator, "bind", "true") }
	exports := func(expressions string) string { return settingOf(operator, "export", expressions) }
	value := func(ctx context.Context, name string) any {
		GinkgoHelper()
		data, _ := mustGet(ctx, "v1", "ConfigMap", namespace, name).Object["data"].(map[string]any)
		return data["value"]
	}
	waits := func(ctx context.Context, g *gadget.Gadget, why string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring(why)))
	}
	requests := func(ctx context.Context, mark auditMark, resource string) []string {
		GinkgoHelper()
		return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource(resource))
	}

	It("a value of a status reaches another object, a new value costs one write, and a value that vanishes "+
		"blanks nothing", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		text := together(balancedService(namespace, exports("dbHost="+address)),
			configMap("web", "postgres://${{ dbHost }}:5432", bind()),
			configMap("later", "x", settingOf(operator, "order", "1")))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		waits(ctx, g, "export dbHost of Service "+namespace+"/db")
		settle(ctx, operator)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero(), "neither the object with the hole nor the next wave is applied")

		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		Expect(value(ctx, "web")).To(Equal("postgres://10.0.0.1:5432"))
		Expect(configMapExists(ctx, namespace, "later")).To(BeTrue())
		settle(ctx, operator)

		mark, revision := markAudit(ctx), current(ctx, g).Status.Revision
		assignAddress(ctx, namespace, "10.0.0.2")
		Eventually(ctx, func() any { return value(ctx, "web") }).Should(Equal("postgres://10.0.0.2:5432"))
		settle(ctx, operator)
		Expect(requests(ctx, mark, "configmaps")).To(Equal([]string{"patch configmaps 200"}), "a new value costs one write")
		Expect(requests(ctx, mark, "services")).To(BeEmpty(), "the watch shows the value")

		mark = markAudit(ctx)
		assignAddress(ctx, namespace, "")
		waits(ctx, g, "the applied values stay")
		settle(ctx, operator)
		stop()
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		waits(ctx, g, "export dbHost of Service "+namespace+"/db")
		Expect(value(ctx, "web")).To(Equal("postgres://10.0.0.2:5432"))
		Expect(requestsSince(ctx, mark, operator).Resource("configmaps", "services").Writes()).To(BeEmpty())
		Expect(current(ctx, g).Status.Revision).To(Equal(revision))

		assignAddress(ctx, namespace, "10.0.0.2")
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(requestsSince(ctx, mark, operator).Resource("configmaps", "services").Writes()).To(BeEmpty(),
			"the value is the same")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "web"), `{"data":{"value":"theirs"}}`)
		Eventually(ctx, func() any { return value(ctx, "web") }).Should(Equal("postgres://10.0.0.2:5432"),
			"drift is repaired with the value")
		stop()
	})

	It("an object of a type that is watched as metadata is read once after a change, and once "+
		"after a restart", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		text := func(v string) string {
			return together(configMap("source", v, exports("v=self.data.value, length=size(self.data.value)")),
				"apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {"+bind()+
					"}}\nspec: {clusterIP: None, selector: {app: '${{ v }}'}, ports: [{port: '${{ length }}'}]}")
		}
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", text("abc"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(requests(ctx, mark, "configmaps")).To(Equal([]string{"patch configmaps 201"}),
			"the response to the write has the value")
		port := func() any {
			GinkgoHelper()
			service := &corev1.Service{}
			Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, service)).To(Succeed())
			return service.Spec.Ports[0].Port
		}
		Expect(port()).To(BeEquivalentTo(3))

		mark = markAudit(ctx)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "source"), `{"metadata":{"labels":{"theirs":"x"}}}`)
		Eventually(ctx, func() []string { return requests(ctx, mark, "configmaps") }).
			Should(Equal([]string{"get configmaps 200"}))
		settle(ctx, operator)
		changeManifests(ctx, g, text("abcd"))
		Eventually(ctx, port).Should(BeEquivalentTo(4))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark = markAudit(ctx)
		stop()
		stop = runOperator(operator, operatorOptions{})
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps", "services"))).To(
			Equal([]string{"get configmaps 200"}), "one read after a restart, and no write")
		stop()
	})

	It("values of an observed Secret reach Secrets alone, and are nowhere in the status or in events, spans "+
		"and forecasts", func(ctx SpecContext) {
		const password = "correct-horse-battery"
		spans := tracetest.NewInMemoryExporter()
		runOperator(operator, operatorOptions{component: component.Options{
			Telemetry: component.Telemetry{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))},
		}})
		observed := "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, annotations: {" + settingOf(operator,
			"reconcile-policy", "observe") + ", " +
			exports("password=self.stringData.password") + "}}"
		binding := func(hole string) string {
			return together(observed, configMap("other", "x"),
				"apiVersion: v1\nkind: Secret\nmetadata: {name: ours, annotations: {"+bind()+"}}\n"+
					"stringData: {url: 'x:"+hole+"', bad: 'a'}")
		}
		var shown []string
		show := func(v any) {
			GinkgoHelper()
			text, err := json.Marshal(v)
			Expect(err).NotTo(HaveOccurred())
			shown = append(shown, string(text), fmt.Sprintf("%+v", v))
		}
		// forecast shows the forecast for other manifests without its objects, which contain the data of Secrets and are
		// masked by the tools that print them. It returns the dependents that the forecast writes or waits for.
		forecast := func(g *gadget.Gadget, text string) (named []string) {
			GinkgoHelper()
			changed := current(ctx, g)
			changed.Spec.Manifests = text
			changed.Generation++
			f, err := previewOf(operator).Apply(ctx, changed)
			Expect(err).NotTo(HaveOccurred())
			for i := range f.Steps {
				s := &f.Steps[i]
				s.Manifest, s.Before, s.After = nil, nil, nil
				named = append(named, string(s.Effect)+" "+s.Key.Name)
			}
			show(f)
			for _, w := range f.Waiting {
				named = append(named, w.Reason+" "+w.Dependent)
			}
			return named
		}

		create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: "+namespace+
			"}\nstringData: {password: "+password+"}")
		g := newGadget(ctx, namespace, "app", together(observed, configMap("leak", "${{ password }}", bind())),
			servedBy(operator))
		waits(ctx, g, "values of Secrets can be bound into the data of Secrets only")
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		show(current(ctx, g).Status)
		Expect(forecast(g, binding("${{ password }}"))).To(ContainElement("Create ours"))
		changeManifests(ctx, g, binding("${{ password }}"))
		expectReady(ctx, g)
		secret := &corev1.Secret{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "ours"}, secret)).To(Succeed())
		Expect(string(secret.Data["url"])).To(Equal("x:" + password))
		show(current(ctx, g).Status)
		Expect(forecast(g, binding("y:${{ password }}"))).To(ContainElement("Update ours"))

		const failing = "${{ string(int(password)) }}"
		Expect(forecast(g, binding(failing))).To(ContainElement(HaveSuffix("/ours")))
		changeManifests(ctx, g, binding(failing))
		waits(ctx, g, "its expression failed")
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "ours"}, secret)).To(Succeed())
		Expect(string(secret.Data["url"])).To(Equal("x:"+password), "what was applied stays")
		forecast(g, binding(failing))

		settle(ctx, operator)
		show(current(ctx, g).Status)
		events := &corev1.EventList{}
		Expect(k8s.List(ctx, events, client.InNamespace(namespace))).To(Succeed())
		Expect(events.Items).NotTo(BeEmpty())
		show(events.Items)
		Expect(fmt.Sprintf("%+v", spans.GetSpans())).To(ContainSubstring("Secret "+namespace+"/ours"),
			"the spans name the write of the Secret")
		shown = append(shown, fmt.Sprintf("%+v", spans.GetSpans()))
		Expect(shown).NotTo(ContainElement(Or(
			ContainSubstring(password), ContainSubstring(base64.StdEncoding.EncodeToString([]byte(password))),
			ContainSubstring(base64.StdEncoding.EncodeToString([]byte("x:"+password))))))
	})

	It("an object of another component gives no values, even if its manifest is the same", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		text := balancedService(namespace, exports("dbHost="+address))
		owner := newGadget(ctx, namespace, "owner", text, servedBy(operator))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Service", namespace, "db"); return err }).Should(Succeed())
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, owner)
		other := newGadget(ctx, namespace, "other", together(text, configMap("copy", "${{ dbHost }}", bind())),
			servedBy(operator))
		waits(ctx, other, "it is owned by")
		settle(ctx, operator)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("all contradictions are reported before the first write", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(
			configMap("fine", "x"),
			configMap("a", "${{ b }}", bind(), exports("a=self.data.value")),
			configMap("b", "${{ a }}", bind(), exports("b=self.data.value")),
			configMap("late", "x", exports("late=self.data.value"), settingOf(operator, "order", "2")),
			configMap("early", "${{ late }}", bind()), configMap("unknown", "${{ nobody }}", bind())), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"),
			ContainSubstring("undeclared reference to 'nobody'"), ContainSubstring("whose order 2 is after its own order 0"),
			ContainSubstring("it waits for a value that depends on itself")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a preview shows the missing values and all later steps, and sends no hole to "+
		"the API server", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		of := func(name, value string) string { return setting(name, value) }
		text := together(balancedService(namespace, of("export", "dbHost="+address)),
			"apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {"+of("bind", "true")+
				"}}\nspec: {type: ExternalName, externalName: '${{ dbHost }}'}",
			"apiVersion: v1\nkind: Service\nmetadata: {name: theirs, annotations: {"+of("reconcile-policy", "observe")+"}}",
			configMap("later", "x", order(1)))
		g := newGadget(ctx, namespace, "app", configMap("later", "x", order(1)))
		expectReady(ctx, g)
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		forecast, err := foresee(ctx, current(ctx, g), text)
		Expect(err).NotTo(HaveOccurred())
		Expect(turns(forecast)).To(Equal([][]string{{"create services/db"}}), "%+v", forecast)
		var reasons []string
		for _, w := range forecast.Waiting {
			reasons = append(reasons, w.Dependent+" "+w.Reason)
		}
		Expect(reasons).To(ConsistOf("Service "+namespace+"/web ExportMissing", "Service "+namespace+"/theirs Absent"))
		Expect(forecast.Desired).To(Equal(4))
		for _, e := range auditEvents(ctx)[mark:].Writes().Resource("services") {
			Expect(e.Name).NotTo(Equal("web"), "a hole was sent")
		}
	})

	It("a component learns that an observed object does not exist by one read as its identity", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		user := serviceAccountUser(namespace, "deployer")
		grant(ctx, namespace, "deployer", user, "configmaps: get, create, patch, delete")
		reads := func(mark auditMark) []string {
			GinkgoHelper()
			found := inNamespace(requestsSince(ctx, mark, operator), namespace).Where(named("theirs"))
			Expect(found.As(user)).To(HaveLen(len(found)))
			return verbs(found)
		}
		observed := func(kind, name string) string {
			return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {" + settingOf(operator,
				"reconcile-policy", "observe") + "}}"
		}
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(observed("ConfigMap", "theirs"), configMap("ours", "x")),
			servedBy(operator), asServiceAccount("deployer"))
		waits(ctx, g, "it does not exist; the component only observes it")
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(reads(mark)).To(Equal([]string{"get configmaps 404"}))
		mark = markAudit(ctx)
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: "+namespace+"}")
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(reads(mark)).To(Equal([]string{"get configmaps 200"}))
		mark = markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "theirs"))
		waits(ctx, g, "it does not exist; the component only observes it")
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(reads(mark)).To(Equal([]string{"get configmaps 404"}))
		mark = markAudit(ctx)
		stop()
		runAgain(ctx, operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(reads(mark)).To(Equal([]string{"get configmaps 404"}), "one read after a restart")

		By("without the right to read it")
		other := newGadget(ctx, namespace, "other", observed("Secret", "none"), servedBy(operator),
			asServiceAccount("deployer"))
		waits(ctx, other, `cannot get resource "secrets"`)
		Expect(fmt.Sprint(current(ctx, other).Status)).NotTo(ContainSubstring("does not exist"))
	})

	It("an observed object is read as the identity of the component alone", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		user := serviceAccountUser(namespace, "deployer")
		grant(ctx, namespace, "deployer", user, "configmaps: get, create, patch, delete", "secrets: create")
		create(ctx, "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, namespace: "+namespace+
			"}\nstringData: {password: hunter2}")
		observed := "apiVersion: v1\nkind: Secret\nmetadata: {name: theirs, annotations: {" + settingOf(operator,
			"reconcile-policy", "observe") + ", " +
			exports("password=self.stringData.password") + "}}"
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", together(observed, configMap("ours", "x"),
			"apiVersion: v1\nkind: Secret\nmetadata: {name: copy, annotations: {"+bind()+
				"}}\nstringData: {password: '${{ password }}'}"),
			servedBy(operator), asServiceAccount("deployer"))
		waits(ctx, g, `cannot get resource "secrets"`)
		settle(ctx, operator)
		reads := inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("secrets").Where(named("theirs"))
		Expect(reads).NotTo(BeEmpty())
		Expect(reads.As(user)).To(HaveLen(len(reads)))
		Expect(reads.Code(403)).To(HaveLen(len(reads)))
		_, err := get(ctx, "v1", "Secret", namespace, "copy")
		Expect(err).To(HaveOccurred())
	})
})
