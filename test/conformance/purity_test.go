package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// chart is a generator that renders a gadget's manifests as the template of a chart, and counts its renderings.
type chart struct{ renderings atomic.Int64 }

func (c *chart) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	c.renderings.Add(1)
	text, _ := req.Parameters["manifests"].(string)
	rendered, err := helm.New(fstest.MapFS{
		"Chart.yaml":         {Data: []byte("{apiVersion: v2, name: app, version: 1.0.0}")},
		"templates/all.yaml": {Data: []byte(text)},
	}, helm.Options{})
	if err != nil {
		return nil, err
	}
	req.Parameters = nil
	return rendered.Generate(ctx, req)
}

// keptSets returns the Secrets in a namespace that contain pinned renderings.
func keptSets(ctx context.Context, namespace string) []corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var found []corev1.Secret
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, "rendered-") {
			found = append(found, s)
		}
	}
	return found
}

// content returns the data of a Secret or ConfigMap.
func content(ctx context.Context, kind, namespace, name string) map[string]any {
	GinkgoHelper()
	data, _ := mustGet(ctx, "v1", kind, namespace, name).Object["data"].(map[string]any)
	return data
}

var _ = Describe("Renderings with generated values:", func() {
	var namespace, operator string
	var rendered *chart
	var start func() (stop func())
	BeforeEach(func(ctx SpecContext) {
		namespace, operator, rendered = newNamespace(ctx), newOperatorName(), &chart{}
		start = func() func() { return runOperator(operator, operatorOptions{generate: rendered}) }
	})

	const twice = `{{ $password := randAlphaNum 16 }}
apiVersion: v1
kind: Secret
metadata: {name: one}
data: {password: {{ $password | b64enc }}}
---
apiVersion: v1
kind: Secret
metadata: {name: two}
data: {password: {{ $password | b64enc }}, fixed: YQ==}
`

	It("a condition reports each generated value by its object and field, and never "+
		"contains the value", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", twice, servedBy(operator))
		expectReady(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionNonDeterministic, And(
			HavePrefix("True ValuesKept"), ContainSubstring("Secret one: data.password"),
			ContainSubstring("Secret two: data.password"), Not(ContainSubstring("fixed"))))
		Expect(content(ctx, "Secret", namespace, "one")["password"]).
			To(Equal(content(ctx, "Secret", namespace, "two")["password"]))
		password := fmt.Sprint(content(ctx, "Secret", namespace, "one")["password"])
		Expect(fmt.Sprint(current(ctx, g).Status)).NotTo(ContainSubstring(password))

		By("removing the condition when no values are generated any more")
		changeManifests(ctx, g, configMap("settings", "a"))
		expectReady(ctx, g)
		Expect(condition(current(ctx, g), metav1alpha1.ConditionNonDeterministic)).To(BeEmpty())
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})

	It("each part of a date is detected as a generated value", func(ctx SpecContext) {
		layouts := map[string]string{
			"day": "02", "month": "January", "year": "2006", "hour": "15", "minute": "04",
			"second": "05", "weekday": "Mon",
		}
		runOperator(operator, operatorOptions{generate: generator.GeneratorFunc(func(_ context.Context,
			req generator.Request,
		) ([]client.Object, error) {
			dates := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dates"}, Data: map[string]string{}}
			for part, layout := range layouts {
				dates.Data[part] = req.Now.Format(layout)
			}
			return []client.Object{dates}, nil
		})})
		g := newGadget(ctx, namespace, "app", "", servedBy(operator))
		expectReady(ctx, g)
		for part := range layouts {
			Expect(condition(current(ctx, g), metav1alpha1.ConditionNonDeterministic)).
				To(ContainSubstring("ConfigMap dates: data." + part))
		}
	})

	It("generated values do not change through repairs of drift and restarts, and are generated again "+
		"for new inputs", func(ctx SpecContext) {
		stop := start()
		g := newGadget(ctx, namespace, "app", twice, servedBy(operator))
		expectReady(ctx, g)
		password := content(ctx, "Secret", namespace, "one")["password"]
		kept := keptSets(ctx, namespace)
		Expect(kept).To(HaveLen(1))
		Expect(kept[0].Finalizers).To(ConsistOf(operator + "/finalizer"))

		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "one"))
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Secret", namespace, "one"); return err }).Should(Succeed())
		Expect(content(ctx, "Secret", namespace, "one")["password"]).To(Equal(password))

		stop()
		before, mark := rendered.renderings.Load(), markAudit(ctx)
		remove(ctx, mustGet(ctx, "v1", "Secret", namespace, "two"))
		patch(ctx, mustGet(ctx, "v1", "Secret", namespace, "one"), `{"stringData":{"password":"drifted"}}`)
		stop = start()
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "Secret", namespace, "two"); return err }).Should(Succeed())
		Expect(content(ctx, "Secret", namespace, "two")["password"]).To(Equal(password))
		Eventually(ctx, func() any { return content(ctx, "Secret", namespace, "one")["password"] }).Should(Equal(password))
		Expect(rendered.renderings.Load()).To(Equal(before),
			"the component was rendered again, although its rendering is recorded")
		expectCondition(ctx, g, metav1alpha1.ConditionNonDeterministic, "True ValuesKept")
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Verb("get"))).
			To(ContainElement("get secrets 200"))
		Expect(current(ctx, g).Status.Revision).To(Equal(int64(1)))

		By("rendering a new revision")
		changeManifests(ctx, g, twice+"---\n"+configMap("settings", "a"))
		expectReady(ctx, g)
		renewed := content(ctx, "Secret", namespace, "one")["password"]
		Expect(renewed).NotTo(Equal(password))
		Expect(content(ctx, "Secret", namespace, "two")["password"]).To(Equal(renewed))
		Expect(keptSets(ctx, namespace)).To(And(HaveLen(1), Not(ContainElement(HaveField("Name", kept[0].Name)))))

		By("deleting the component, which leaves no Secrets of pinned renderings")
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
		stop()
	})

	It("generated values do not change after the loss of the status", func(ctx SpecContext) {
		stop := start()
		g := newGadget(ctx, namespace, "app", twice, servedBy(operator))
		expectReady(ctx, g)
		password := content(ctx, "Secret", namespace, "one")["password"]
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		start()
		expectReady(ctx, g)
		Expect(content(ctx, "Secret", namespace, "one")["password"]).To(Equal(password))
		Expect(content(ctx, "Secret", namespace, "two")["password"]).To(Equal(password))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})

	It("if the names of objects or the lengths of lists differ in each rendering, the rendering is refused, and "+
		"nothing is written", func(ctx SpecContext) {
		start()
		g := newGadget(ctx, namespace, "app", configMap("first", "a"), servedBy(operator))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		for _, manifest := range []string{
			configMap("c-{{ randNumeric 9 }}", "a"),
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k{{ randNumeric 9 }}: a}",
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n" +
				"spec: {finalizers: [{{ repeat (int (randNumeric 4)) `a,` }}]}",
		} {
			changeManifests(ctx, g, configMap("second", "b")+"\n---\n"+manifest)
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True NonDeterministic"),
				Not(ContainSubstring("second"))))
		}
		Expect(story(ctx, mark, operator, namespace)).To(BeEmpty())
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})

	It("the determinism check renders new inputs a second time, renders known inputs once, and "+
		"sends no request", func(ctx SpecContext) {
		stop := start()
		mark := markAudit(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered.renderings.Load()).To(Equal(int64(2)))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(ConsistOf(
			"patch gadgets 200", "update gadgets/status 200", "patch configmaps 201", "update gadgets/status 200"))
		stop()
		mark = markAudit(ctx)
		start()
		Eventually(ctx, rendered.renderings.Load).Should(Equal(int64(3)))
		settle(ctx, operator)
		Expect(rendered.renderings.Load()).To(Equal(int64(3)))
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(BeEmpty())
	})

	It("a rendering is rendered only once if the author disables the determinism check", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{generate: rendered, component: component.Options{SkipDeterminismCheck: true}})
		g := newGadget(ctx, namespace, "app", twice, servedBy(operator))
		expectReady(ctx, g)
		Expect(rendered.renderings.Load()).To(Equal(int64(1)))
		Expect(condition(current(ctx, g), metav1alpha1.ConditionNonDeterministic)).To(BeEmpty())
		Expect(keptSets(ctx, namespace)).To(BeEmpty())
	})
})
