package conformance_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Ignored fields:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	web := func(ctx context.Context) *unstructured.Unstructured {
		GinkgoHelper()
		return mustGet(ctx, "apps/v1", "Deployment", namespace, "web")
	}
	replicas := func(ctx context.Context) int64 {
		GinkgoHelper()
		n, _, err := unstructured.NestedInt64(web(ctx).Object, "spec", "replicas")
		Expect(err).NotTo(HaveOccurred())
		return n
	}
	// autoscale writes the replicas as a HorizontalPodAutoscaler does.
	autoscale := func(ctx context.Context, n int32) {
		GinkgoHelper()
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		Expect(k8s.SubResource("scale").Update(ctx, web(ctx), client.WithSubResourceBody(scale),
			client.FieldOwner("kube-controller-manager"))).To(Succeed())
	}
	applyAs := func(ctx context.Context, manager, text string) {
		GinkgoHelper()
		obj := web(ctx)
		Expect(k8s.Patch(ctx, obj, client.RawPatch(types.ApplyPatchType, []byte(text)), client.FieldOwner(manager),
			client.ForceOwnership)).To(Succeed())
	}
	// writes returns the writes of the operator to Deployments of the namespace.
	writes := func(ctx context.Context, mark auditMark) []string {
		return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("deployments").Writes())
	}
	requests := func(ctx context.Context, mark auditMark) []string {
		return verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("deployments"))
	}
	const ignoreReplicas = "spec.replicas"
	scaled := func(annotations ...string) string {
		return strings.Replace(deployment("web", annotations...), "replicas: 1", "replicas: 2", 1)
	}

	forEachPolicy(func(policy string) {
		manifest := func(extra ...string) string {
			return scaled(append(extra, settingOf(operator, "update-policy", policy))...)
		}
		ignoring := func() string { return manifest(settingOf(operator, "ignore", ignoreReplicas)) }

		It("an autoscaler sets the replicas, through updates and a restart, until the "+
			"rule is removed", func(ctx SpecContext) {
			stop := runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", ignoring(), servedBy(operator))
			expectReady(ctx, g)
			Expect(replicas(ctx)).To(BeEquivalentTo(2))

			By("scaling without a write of the operator")
			mark := markAudit(ctx)
			autoscale(ctx, 3)
			expectReady(ctx, g)
			settle(ctx, operator)
			requestPass(ctx, g, operator)
			settle(ctx, operator)
			Expect(requests(ctx, mark)).To(BeEmpty())
			Expect(replicas(ctx)).To(BeEquivalentTo(3))

			By("changing another field")
			changed := ignoring() + "\n  revisionHistoryLimit: 3"
			changeManifests(ctx, g, changed)
			expectReady(ctx, g)
			Expect(replicas(ctx)).To(BeEquivalentTo(3))
			Expect(field(web(ctx), "spec", "revisionHistoryLimit")).To(BeEquivalentTo(3))

			By("changing the ignored field in the manifest alone: one write")
			settle(ctx, operator)
			mark = markAudit(ctx)
			changed = strings.Replace(changed, "replicas: 2", "replicas: 4", 1)
			changeManifests(ctx, g, changed)
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(writes(ctx, mark)).To(HaveLen(1))
			Expect(replicas(ctx)).To(BeEquivalentTo(3))

			By("restarting the operator")
			stop()
			autoscale(ctx, 2)
			mark = markAudit(ctx)
			runOperator(operator, operatorOptions{})
			requestPass(ctx, g, operator)
			settle(ctx, operator)
			Expect(writes(ctx, mark)).To(BeEmpty())

			By("removing the rule")
			changeManifests(ctx, g, strings.Replace(manifest(), "replicas: 2", "replicas: 4", 1)+"\n  revisionHistoryLimit: 3")
			Eventually(ctx, func() int64 { return replicas(ctx) }).Should(BeEquivalentTo(4))
			expectReady(ctx, g)
		})

		It("a value that only the operator owns is kept when the manifest changes or drops it", func(ctx SpecContext) {
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", ignoring(), servedBy(operator))
			expectReady(ctx, g)
			changeManifests(ctx, g, strings.Replace(ignoring(), "replicas: 2", "replicas: 4", 1)+"\n  revisionHistoryLimit: 3")
			expectReady(ctx, g)
			Expect(replicas(ctx)).To(BeEquivalentTo(2))
			changeManifests(ctx, g, removeLine(ignoring(), "replicas: 2")+"\n  revisionHistoryLimit: 4")
			expectReady(ctx, g)
			Expect(replicas(ctx)).To(BeEquivalentTo(2))
		})

		It("drift of other fields of the same object is repaired, and the ignored field is kept", func(ctx SpecContext) {
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", ignoring(), servedBy(operator))
			expectReady(ctx, g)
			autoscale(ctx, 3)
			patch(ctx, web(ctx), `{"metadata":{"labels":{"team":"red"}}}`)
			Eventually(ctx, func() string { return web(ctx).GetLabels()["team"] }).Should(Equal("blue"))
			Expect(replicas(ctx)).To(BeEquivalentTo(3))
		})

		It("an image of a container that another client sets is kept", func(ctx SpecContext) {
			runOperator(operator, operatorOptions{})
			text := manifest(settingOf(operator, "ignore", "spec.template.spec.containers[name=main].image"))
			g := newGadget(ctx, namespace, "app", text, servedBy(operator))
			expectReady(ctx, g)
			image := func() any {
				containers, _, _ := unstructured.NestedSlice(web(ctx).Object, "spec", "template", "spec", "containers")
				Expect(containers).To(HaveLen(1))
				main, _ := containers[0].(map[string]any)
				return main["image"]
			}
			patchStrategic(ctx, web(ctx), `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:9"}]}}}}`)
			settle(ctx, operator)
			changeManifests(ctx, g, strings.Replace(text, "nginx:1", "nginx:2", 1)+"\n  revisionHistoryLimit: 3")
			expectReady(ctx, g)
			Expect(field(web(ctx), "spec", "revisionHistoryLimit")).To(BeEquivalentTo(3))
			Expect(image()).To(Equal("nginx:9"))
		})

		It("an adopted object keeps its value of an ignored field", func(ctx SpecContext) {
			runOperator(operator, operatorOptions{})
			for _, o := range create(ctx, strings.Replace(deployment("web"), "metadata: {",
				"metadata: {namespace: "+namespace+", ", 1)) {
				Expect(o.GetName()).To(Equal("web"))
			}
			g := newGadget(ctx, namespace, "app", ignoring(), servedBy(operator))
			expectReady(ctx, g)
			Expect(replicas(ctx)).To(BeEquivalentTo(1))
		})

		It("rules of the option and of the spec; a change of the option writes the matching object once, "+
			"without a revision", func(ctx SpecContext) {
			rules := []metav1alpha1.IgnoreRule{{
				Target: &metav1alpha1.ObjectTarget{Group: "apps", Kind: "Deploy.*", Name: "web", LabelSelector: "team=blue"},
				Paths:  []string{"spec.replicas"},
			}}
			bySpec := []metav1alpha1.IgnoreRule{{
				Target: &metav1alpha1.ObjectTarget{Kind: "Deployment"}, Paths: []string{"spec.revisionHistoryLimit"},
			}}
			stop := runOperator(operator, operatorOptions{
				component: component.Options{Dependents: component.Dependents{Ignore: rules}},
			})
			text := together(manifest(), configMap("settings", "a"))
			g := newGadget(ctx, namespace, "app", text, servedBy(operator), func(g *gadget.Gadget) { g.Spec.Ignore = bySpec })
			expectReady(ctx, g)
			Expect(web(ctx).GetAnnotations()).To(And(
				HaveKeyWithValue(operator+"/"+marks.AnnotationIgnoredByOption, "spec.replicas"),
				HaveKeyWithValue(operator+"/"+marks.AnnotationIgnoredBySpec, "spec.revisionHistoryLimit")))
			autoscale(ctx, 3)
			patch(ctx, web(ctx), `{"spec":{"revisionHistoryLimit":5}}`)
			settle(ctx, operator)
			Expect(replicas(ctx)).To(BeEquivalentTo(3))

			forecast, err := previewWith(operator, component.Options{
				Dependents: component.Dependents{Ignore: rules},
			}).Apply(ctx, current(ctx, g))
			Expect(err).NotTo(HaveOccurred())
			Expect(forecast.Steps).To(BeEmpty())
			key := manifests.Key{Group: "apps", Kind: "Deployment", Namespace: namespace, Name: "web"}
			Expect(forecast.Ignored).To(Equal([]result.IgnoredField{
				{Key: key, Path: "spec.replicas", Source: manifests.IgnoredByOption},
				{Key: key, Path: "spec.revisionHistoryLimit", Source: manifests.IgnoredBySpec},
			}))

			By("changing another field")
			changeManifests(ctx, g, strings.Replace(text, "replicas: 2", "minReadySeconds: 1\n  replicas: 2", 1))
			expectReady(ctx, g)
			Expect(field(web(ctx), "spec", "minReadySeconds")).To(BeEquivalentTo(1))
			Expect(replicas(ctx)).To(BeEquivalentTo(3))
			Expect(field(web(ctx), "spec", "revisionHistoryLimit")).To(BeEquivalentTo(5))

			By("restarting the operator without its option")
			settle(ctx, operator)
			stop()
			mark, revision := markAudit(ctx), current(ctx, g).Status.Revision
			runOperator(operator, operatorOptions{})
			Eventually(ctx, func() int64 { return replicas(ctx) }).Should(BeEquivalentTo(2))
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(writes(ctx, mark)).To(HaveLen(1))
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps").Writes())).
				To(BeEmpty())
			Expect(current(ctx, g).Status.Revision).To(Equal(revision))
			Expect(field(web(ctx), "spec", "revisionHistoryLimit")).To(BeEquivalentTo(5))
		})
	})

	It("a value that another manager gives up is not restored", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		text := scaled(settingOf(operator, "ignore", ignoreReplicas))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		const theirs = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
		applyAs(ctx, "theirs", theirs+"spec: {replicas: 3}")
		changeManifests(ctx, g, text+"\n  revisionHistoryLimit: 3")
		expectReady(ctx, g)
		mark := markAudit(ctx)
		applyAs(ctx, "theirs", theirs)
		Expect(replicas(ctx)).To(BeEquivalentTo(1), "the default")
		settle(ctx, operator)
		Expect(writes(ctx, mark)).To(BeEmpty())
		Expect(replicas(ctx)).To(BeEquivalentTo(1))
	})

	It("a rule that another client writes to the live object hides nothing", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", scaled(), servedBy(operator))
		expectReady(ctx, g)
		patch(ctx, web(ctx), `{"metadata":{"annotations":{"`+operator+`/ignore":"spec.replicas"}}}`)
		autoscale(ctx, 3)
		Eventually(ctx, func() int64 { return replicas(ctx) }).Should(BeEquivalentTo(2))
	})

	It("an object without rules is not read before it is applied", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		text := together(configMap("with", "a", settingOf(operator, "ignore", "data.other")), configMap("without", "a"))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		mark := markAudit(ctx)
		changeManifests(ctx, g, strings.ReplaceAll(text, `value: "a"`, `value: "b"`))
		expectReady(ctx, g)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace).Resource("configmaps"))).To(ConsistOf(
			"get configmaps 200", "patch configmaps 200", "patch configmaps 200"))
	})

	It("invalid paths are reported together, with their objects, and nothing is written", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		text := together(
			configMap("a", "a", settingOf(operator, "ignore", "metadata.name, data[0]")),
			configMap("b", "b", settingOf(operator, "ignore", "data..x")))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("ConfigMap a: annotation "), ContainSubstring("ConfigMap b: annotation "),
			ContainSubstring(`path "metadata.name"`), ContainSubstring(`path "data[0]"`)))
		Expect(configMapExists(ctx, namespace, "a")).To(BeFalse())
		change(ctx, g, func(g *gadget.Gadget) {
			g.Spec.Manifests = configMap("a", "a")
			g.Spec.Ignore = []metav1alpha1.IgnoreRule{{Paths: []string{"kind", "spec..x"}}}
		})
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidSpec"),
			ContainSubstring(`[0]: path "kind"`), ContainSubstring(`[0]: path "spec..x"`)))
	})

	It("a path that selects items by another field than their key is a failure that names the key", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		text := scaled(settingOf(operator, "ignore", "spec.template.spec.containers[image=x].tty"))
		g := newGadget(ctx, namespace, "app", text, servedBy(operator))
		expectReady(ctx, g)
		changeManifests(ctx, g, text+"\n  revisionHistoryLimit: 3")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True DependentFailed"),
			ContainSubstring("it selects items of a list by image, but the API server identifies them by name")))
	})
})

// field returns the value of a field.
func field(o *unstructured.Unstructured, path ...string) any {
	GinkgoHelper()
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	Expect(err).NotTo(HaveOccurred())
	return value
}

// patchStrategic changes an object by a strategic merge patch.
func patchStrategic(ctx context.Context, o client.Object, text string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, []byte(text)))).To(Succeed())
}
