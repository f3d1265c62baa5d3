package conformance_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// templates renders the manifests of a gadget as a Go template, and counts the renderings.
type templates struct{ renderings atomic.Int64 }

func (t *templates) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	t.renderings.Add(1)
	text, _ := req.Parameters["manifests"].(string)
	rendered, err := gotemplate.New(fstest.MapFS{"all.yaml": {Data: []byte(text)}}, gotemplate.Options{})
	if err != nil {
		return nil, err
	}
	req.Parameters = nil
	return rendered.Generate(ctx, req)
}

var _ = Describe("Exports in renderings:", func() {
	const address = "self.status.loadBalancer.ingress[0].ip"
	// withHost renders a ConfigMap only when dbHost is known.
	const withHost = "{{ with export `dbHost` }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n" +
		"data: {value: {{ . }}}\n{{ end }}"
	var namespace, operator string
	var rendered *templates
	var start func() (stop func())
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &templates{}
		start = func() func() { return runOperator(operator, operatorOptions{generate: rendered}) }
	})
	exports := func(expressions string) string { return settingOf(operator, "export", expressions) }
	service := func() string { return balancedService(namespace, exports("dbHost="+address)) }
	atOnce := func(name string) string { return configMap(name, "x", settingOf(operator, "prune-policy", "at-once")) }
	value := func(ctx context.Context, name string) any { return content(ctx, "ConfigMap", namespace, name)["value"] }
	waits := func(ctx context.Context, g *gadget.Gadget, why string) {
		GinkgoHelper()
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False"), ContainSubstring(why)))
	}

	It("while an export is missing nothing is pruned, and its value closes the set", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", together(configMap("old", "x"), atOnce("now")), servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(service(), withHost))
		waits(ctx, g, "the rendering asked for export dbHost: ")
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Service", namespace, "db"); return err }).Should(Succeed())
		settle(ctx, operator)
		Expect(configMapExists(ctx, namespace, "old")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "now")).To(BeTrue())
		Expect(configMapExists(ctx, namespace, "web")).To(BeFalse())
		Expect(current(ctx, g).Status.AskedExports).To(Equal([]string{"dbHost"}))

		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		Expect(value(ctx, "web")).To(Equal("10.0.0.1"))
		Expect(configMapExists(ctx, namespace, "old")).To(BeFalse())
		Expect(configMapExists(ctx, namespace, "now")).To(BeFalse())
		Expect(current(ctx, g).Status.AskedExports).To(Equal([]string{`dbHost="10.0.0.1"`}))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(2)))
	})

	It("an export is asked for: only its changes render again, and a value that vanishes "+
		"changes nothing", func(ctx SpecContext) {
		stop := start()
		text := together(balancedService(namespace,
			exports("dbHost="+address+", other=self.metadata.labels[?'x'].orValue('none')")), withHost)
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		waits(ctx, g, "export dbHost")
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		settle(ctx, operator)

		before := rendered.renderings.Load()
		patch(ctx, mustGet(ctx, "v1", "Service", namespace, "db"), `{"metadata":{"labels":{"x":"y"}}}`)
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(before), "nobody asked for the export other")

		mark := markAudit(ctx)
		assignAddress(ctx, namespace, "10.0.0.2")
		Eventually(ctx, func() any { return value(ctx, "web") }).Should(Equal("10.0.0.2"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).
			To(Equal([]string{"patch configmaps 200"}))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		mark = markAudit(ctx)
		assignAddress(ctx, namespace, "")
		waits(ctx, g, `the last value is used: "10.0.0.2"`)
		settle(ctx, operator)
		stop()
		stop = start()
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		waits(ctx, g, "export dbHost")
		changeManifests(ctx, g, together(text, configMap("more", "x")))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "more") }).Should(BeTrue())
		settle(ctx, operator)
		Expect(value(ctx, "web")).To(Equal("10.0.0.2"), "also new inputs are rendered with the last value")
		assignAddress(ctx, namespace, "10.0.0.2")
		expectReady(ctx, g)
		Expect(requestsSince(ctx, mark, operator).Resource("configmaps").Writes().Where(func(e testcluster.Event) bool {
			return e.Name == "web"
		})).To(BeEmpty())
		settle(ctx, operator)
		mark = markAudit(ctx)
		stop()
		start()
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(requestsSince(ctx, mark, operator).Resource("configmaps", "services").Writes())).To(BeEmpty())
		expectReady(ctx, g)
	})

	It("an object that include-when excludes is removed while the set is open", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", configMap("shown", "x"), servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, together(service(), withHost,
			configMap("shown", "x", settingOf(operator, "include-when", "false"))))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "shown") }).Should(BeFalse())
		waits(ctx, g, "export dbHost")
	})

	It("an export of a Secret is refused before the first write", func(ctx SpecContext) {
		start()
		secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {" +
			exports("password=self.stringData.password") + "}}\nstringData: {password: geheim}"
		g := newGadget(ctx, namespace, "app", together(secret, configMap("web", "{{ export `password` }}")),
			servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			ContainSubstring("values of Secrets are not available to renderings"))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring("geheim"))
	})

	It("an export that no object has is refused before the first write", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", together(service(), configMap("web", "{{ export `dbHots` }}")),
			servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			ContainSubstring("export dbHots, which no object of it exports; the exports are dbHost"))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("an export whose object the rendering drops because of the value keeps its value, "+
		"and the object", func(ctx SpecContext) {
		start()
		source := configMap("source", "done", exports("v=self.data.value"))
		g := newGadget(ctx, namespace, "app", "{{ if not (export `v`) }}\n"+source+"\n{{ end }}\n---\n"+configMap("web",
			"{{ export `v` }}"), servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True RenderingIncomplete"),
			ContainSubstring("no object of the rendering exports it; the last value is used: \"done\"")))
		settle(ctx, operator)
		Expect(value(ctx, "web")).To(Equal("done"))
		Expect(configMapExists(ctx, namespace, "source")).To(BeTrue())
		Expect(rendered.renderings.Load()).To(BeNumerically("<=", 6))
	})

	It("a value that changes with each rendering is rendered again with a delay", func(ctx SpecContext) {
		start()
		grows := configMap("source", "{{ export `v` }}1", exports("v=self.data.value"))
		g := newGadget(ctx, namespace, "app", grows, servedBy(operator))
		waits(ctx, g, "the next rendering is delayed")
		settle(ctx, operator)
		renderings, mark := rendered.renderings.Load(), markAudit(ctx)
		Expect(renderings).To(BeNumerically("<=", 20))
		requestEvent(ctx, namespace, "source")
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(renderings), "an event does not end the delay")
		Expect(requestsSince(ctx, mark, operator).Resource("configmaps").Writes()).To(BeEmpty())
	})

	It("after a lost status, objects keep their values until the values are known", func(ctx SpecContext) {
		stop := start()
		g := newGadget(ctx, namespace, "app", together(service(), configMap("web", "{{ export `dbHost` }}")),
			servedBy(operator))
		waits(ctx, g, "export dbHost")
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		assignAddress(ctx, namespace, "")
		lost := current(ctx, g)
		lost.Status = gadget.Gadget{}.Status
		Expect(k8s.Status().Update(ctx, lost)).To(Succeed())
		for range 2 {
			stop = start()
			waits(ctx, g, "the status of the component was lost")
			settle(ctx, operator)
			Expect(value(ctx, "web")).To(Equal("10.0.0.1"))
			stop()
		}
		start()
		assignAddress(ctx, namespace, "10.0.0.2")
		expectReady(ctx, g)
		Expect(value(ctx, "web")).To(Equal("10.0.0.2"))
	})

	It("a component is deleted while its set is open", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", together(service(), configMap("old", "x"), withHost), servedBy(operator))
		waits(ctx, g, "export dbHost")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})

	It("a preview renders with the live values, and foresees no pruning while a value is missing", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", together(service(), configMap("old", "x")), servedBy(operator))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Service", namespace, "db"); return err }).Should(Succeed())
		preview := func() result.Forecast {
			GinkgoHelper()
			changed := current(ctx, g)
			changed.Spec.Manifests = together(service(), withHost)
			changed.Generation++
			p := previewOf(operator)
			p.Generator = rendered
			f, err := p.Apply(ctx, changed)
			Expect(err).NotTo(HaveOccurred())
			return f
		}
		f := preview()
		Expect(turns(f)).To(BeEmpty())
		Expect(f.Waiting).To(ContainElement(HaveField("Message", ContainSubstring("the rendering asked for export dbHost"))))
		assignAddress(ctx, namespace, "10.0.0.1")
		expectReady(ctx, g)
		Expect(turns(preview())).To(Equal([][]string{{"create configmaps/web"}, {"delete configmaps/old"}}))
	})
})

// requestEvent changes a label of a ConfigMap as another client.
func requestEvent(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, name), `{"metadata":{"labels":{"theirs":"x"}}}`)
}
