package conformance_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

var _ = Describe("Drift of dependents:", func() {
	configMapOf := func(ctx context.Context, namespace string) *unstructured.Unstructured {
		GinkgoHelper()
		return mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
	}
	deploymentOf := func(ctx context.Context, namespace string) *unstructured.Unstructured {
		GinkgoHelper()
		return mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
	}
	text := func(o *unstructured.Unstructured, path ...string) string {
		s, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return fmt.Sprint(s)
	}

	type dependent struct {
		text func(setting string) string
		read func(context.Context, string) *unstructured.Unstructured
	}
	settings := dependent{func(s string) string { return configMap("settings", "ours", s) }, configMapOf}
	web := dependent{func(s string) string { return deployment("web", s) }, deploymentOf}
	type change struct {
		of   dependent
		make func(context.Context, *unstructured.Unstructured)
		path []string
	}
	merge := func(patchText string) func(context.Context, *unstructured.Unstructured) {
		return func(ctx context.Context, o *unstructured.Unstructured) { patch(ctx, o, patchText) }
	}
	changes := map[string]change{
		"a value that was changed": {
			settings, merge(`{"data":{"value":"theirs"}}`),
			[]string{"data", "value"},
		},
		"a value that was removed":     {settings, merge(`{"data":{"value":null}}`), []string{"data", "value"}},
		"all values that were removed": {settings, merge(`{"data":null}`), []string{"data", "value"}},
		"a label that was removed": {
			settings, merge(`{"metadata":{"labels":{"team":null}}}`),
			[]string{"metadata", "labels", "team"},
		},
		"a label that was changed": {
			web, merge(`{"metadata":{"labels":{"team":"red"}}}`),
			[]string{"metadata", "labels", "team"},
		},
		"a digest that was changed": {
			settings,
			merge(`{"metadata":{"annotations":{"` + operatorName + `/digest":"0"}}}`),
			[]string{"metadata", "annotations", operatorName + "/digest"},
		},
		"the owner label": {
			settings,
			merge(`{"metadata":{"labels":{"` + operatorName + `/owner-id":null}}}`),
			[]string{"metadata", "labels", operatorName + "/owner-id"},
		},
		"the owner label of a workload": {
			web,
			merge(`{"metadata":{"labels":{"` + operatorName + `/owner-id":null}}}`),
			[]string{"metadata", "labels", operatorName + "/owner-id"},
		},
		"an edited owner label": {
			settings,
			merge(`{"metadata":{"labels":{"` + operatorName + `/owner-id":"edited"}}}`),
			[]string{"metadata", "labels", operatorName + "/owner-id"},
		},
		"the annotation with the name of the owner": {
			settings,
			merge(`{"metadata":{"annotations":{"` + operatorName + `/owner-id":null}}}`),
			[]string{"metadata", "annotations", operatorName + "/owner-id"},
		},
		"replicas that were scaled": {web, func(ctx context.Context, o *unstructured.Unstructured) {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
			Expect(k8s.SubResource("scale").Update(ctx, o, client.WithSubResourceBody(scale))).To(Succeed())
		}, []string{"spec", "replicas"}},
		"an image that was set": {web, func(ctx context.Context, o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "main", "image": "nginx:2"}},
				"spec", "template", "spec", "containers")).To(Succeed())
			Expect(k8s.Update(ctx, o)).To(Succeed())
		}, []string{"spec", "template", "spec", "containers"}},
	}

	forEachPolicy(func(policy string) {
		for name, c := range changes {
			It("one write restores "+name+" in a dependent", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				g := newGadget(ctx, namespace, "app", c.of.text(updatePolicy(policy)))
				expectReady(ctx, g)
				original := text(c.of.read(ctx, namespace), c.path...)
				mark := markAudit(ctx)

				c.make(ctx, c.of.read(ctx, namespace))

				Eventually(ctx, func() string { return text(c.of.read(ctx, namespace), c.path...) }).Should(Equal(original))
				expectReady(ctx, g)
				requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps", "deployments")
				Expect(succeeded(requests.Writes())).To(HaveLen(1), "%v", verbs(requests))
				if policy != "replace" && c.path[len(c.path)-1] != operatorName+"/owner-id" {
					Expect(requests).To(HaveLen(1), "%v", verbs(requests))
				}
			})
		}

		It("a dependent that was deleted is created again", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy)))
			expectReady(ctx, g)
			mark := markAudit(ctx)
			deleted := configMapOf(ctx, namespace)
			remove(ctx, deleted)
			Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", namespace, "settings"); return err }).
				Should(Succeed())
			Expect(configMapOf(ctx, namespace).GetUID()).NotTo(Equal(deleted.GetUID()))
			requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace).Resource("configmaps")
			Expect(requests).To(HaveLen(1), "%v", verbs(requests))
			Eventually(ctx, func() string { return fmt.Sprint(current(ctx, g).Status.Inventory) }).
				Should(ContainSubstring(string(configMapOf(ctx, namespace).GetUID())))
		})

		It("additions of other clients to a dependent are kept, and cost no request", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			policy := fmt.Sprintf("%s/update-policy: %s", operator, policy)
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "ours", policy), deployment("web", policy)),
				servedBy(operator))
			expectReady(ctx, g)
			settle(ctx, operator)
			mark, before := markAudit(ctx), passes(operator)

			patch(ctx, configMapOf(ctx, namespace),
				`{"data":{"theirs":"x"},"metadata":{"labels":{"theirs":"x"},"finalizers":["example.com/theirs"]}}`)
			patch(ctx, deploymentOf(ctx, namespace), `{"metadata":{"annotations":{"theirs":"x"}},"spec":{"paused":true}}`)

			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			settle(ctx, operator)
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps", "deployments"))).
				To(BeEmpty())
			Expect(text(configMapOf(ctx, namespace), "data", "theirs")).To(Equal("x"))
			patch(ctx, configMapOf(ctx, namespace), `{"metadata":{"finalizers":null}}`)
		})

		It("drift of a dependent is repaired each time another client changes the dependent", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours", updatePolicy(policy)))
			expectReady(ctx, g)
			for i := range 30 {
				patch(ctx, configMapOf(ctx, namespace), fmt.Sprintf(`{"data":{"value":"theirs %d"}}`, i))
			}
			Eventually(ctx, func() string { return text(configMapOf(ctx, namespace), "data", "value") }).Should(Equal("ours"),
				"the value was not restored after the repair conflict")
		})
	})

	It("the operator's own writes to dependents start no pass", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMaps("cm", 30, "a"), servedBy(operator))
		expectReady(ctx, g)
		settleAlone(ctx, operator)
		mark, before := markAudit(ctx), passes(operator)
		changeManifests(ctx, g, configMaps("cm", 30, "b"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(passes(operator)-before).To(Equal(1), "want one pass, which the change of the spec starts")
		Expect(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps")).To(HaveLen(30))
	})

	It("a pass that finds no drift sends no request", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(configMaps("cm", 5, "a"), deployment("web")), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
		Expect(current(ctx, g).Annotations).To(HaveKey(operator + "/" + metav1alpha1.AnnotationReconcileRequested))
	})
})
