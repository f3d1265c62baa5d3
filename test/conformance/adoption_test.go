package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// adopting lists the objects that a gadget may take over.
func adopting(rules ...metav1alpha1.AdoptRule) func(*gadget.Gadget) {
	return func(g *gadget.Gadget) { g.Spec.Adopt = append([]metav1alpha1.AdoptRule{}, rules...) }
}

// versionsOf watches a ConfigMap. The returned function returns its versions so far.
func versionsOf(ctx context.Context, namespace, name string) func() []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := dynamic.NewForConfig(cluster.Config())
	Expect(err).NotTo(HaveOccurred())
	w, err := objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).
		Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	var versions []*unstructured.Unstructured
	return func() []*unstructured.Unstructured {
		for {
			select {
			case event := <-w.ResultChan():
				if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
					versions = append(versions, o)
				}
			default:
				return versions
			}
		}
	}
}

var _ = Describe("Objects that another tool claims:", func() {
	settingsRule := metav1alpha1.AdoptRule{Kind: "ConfigMap", Name: "settings"}
	ownerLabel := operatorName + "/owner-id"
	// marks are the labels and annotations of the tools on the ConfigMap settings of a namespace.
	marks := map[string]func(namespace string) string{
		"the Helm release shop/web": func(string) string {
			return "labels: {app.kubernetes.io/managed-by: Helm}, " +
				"annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"
		},
		"the Argo CD application cart": func(namespace string) string {
			return fmt.Sprintf(`annotations: {argocd.argoproj.io/tracking-id: "cart:/ConfigMap:%s/settings"}`, namespace)
		},
		"the kapp application": func(namespace string) string {
			return fmt.Sprintf(`labels: {kapp.k14s.io/app: "17", kapp.k14s.io/association: v1.a}, `+
				`annotations: {kapp.k14s.io/identity: "v1;%s//ConfigMap/settings;v1"}`, namespace)
		},
		"the Flux Kustomization flux-system/apps": func(string) string {
			return "labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}"
		},
		"the Flux HelmRelease shop/web": func(string) string {
			return "labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: shop}"
		},
	}
	isMark := func(key string) bool {
		return strings.Contains(key, "helm.sh/") || strings.Contains(key, "argoproj.io/") ||
			strings.Contains(key, "kapp.k14s.io/") || strings.Contains(key, "fluxcd.io/") ||
			key == "app.kubernetes.io/managed-by"
	}
	isMarked := func(o *unstructured.Unstructured) bool {
		for key := range o.GetLabels() {
			if isMark(key) {
				return true
			}
		}
		for key := range o.GetAnnotations() {
			if isMark(key) {
				return true
			}
		}
		return false
	}
	existing := func(ctx context.Context, namespace, metadata string) *unstructured.Unstructured {
		GinkgoHelper()
		return create(ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: %s, %s}\n"+
			"data: {value: theirs, foreign: x}", namespace, metadata))[0]
	}
	adoptedOf := func(ctx context.Context, g *gadget.Gadget) []string {
		GinkgoHelper()
		history := current(ctx, g).Status.History
		Expect(history).NotTo(BeEmpty())
		return history[0].Adopted
	}

	for tool, metadata := range marks {
		It("an object of "+tool+
			" is not adopted; if the component lists it, it is adopted, and loses its mark in "+
			"the same write", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			before := existing(ctx, namespace, metadata(namespace))
			g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True OwnershipConflict"), ContainSubstring("it belongs to "+tool),
				ContainSubstring("{kind: ConfigMap, namespace: "+namespace+", name: settings} to spec.adopt")))
			Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
				To(Equal(before.GetResourceVersion()))

			versions := versionsOf(ctx, namespace, "settings")
			change(ctx, g, adopting(settingsRule))
			expectReady(ctx, g)
			Expect(current(ctx, g).Status.Revision).To(BeEquivalentTo(1), "want no new revision by the list")
			adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			Expect(adopted.GetUID()).To(Equal(before.GetUID()))
			Expect(isMarked(adopted)).To(BeFalse())
			Eventually(ctx, func() []*unstructured.Unstructured { return versions() }).
				Should(ContainElement(HaveField("GetResourceVersion()", adopted.GetResourceVersion())))
			for _, o := range versions() {
				_, owned := o.GetLabels()[ownerLabel]
				Expect(owned).NotTo(Equal(isMarked(o)), "want each version to have either the mark or our label")
			}
			Expect(adoptedOf(ctx, g)).To(ConsistOf(ContainSubstring("settings from " + tool)))
		})

		forEachPolicy(func(policy string) {
			It("an object of "+tool+" is adopted with the adoption policy always, and loses its mark", func(ctx SpecContext) {
				namespace := newNamespace(ctx)
				existing(ctx, namespace, metadata(namespace))
				g := newGadget(ctx, namespace, "app",
					configMap("settings", "ours", updatePolicy(policy), setting("adoption-policy", "always")))
				expectReady(ctx, g)
				Expect(isMarked(mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))).To(BeFalse())
			})
		})
	}

	DescribeTable("an object is adopted that no tool claims:", func(ctx SpecContext, metadata string) {
		namespace := newNamespace(ctx)
		existing(ctx, namespace, metadata)
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
		expectReady(ctx, g)
	},
		Entry("it has the label app.kubernetes.io/managed-by only",
			"labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: web, argocd.argoproj.io/instance: web}"),
		Entry("it is a copy of an object of Argo CD",
			`annotations: {argocd.argoproj.io/tracking-id: "cart:/ConfigMap:elsewhere/settings"}`),
		Entry("it is a copy of an object of kapp",
			`annotations: {kapp.k14s.io/identity: "v1;elsewhere//ConfigMap/settings;v1"}`),
	)

	It("a kept object is named as an object of a release that may no longer exist", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		existing(ctx, namespace, "annotations: {helm.sh/resource-policy: keep, meta.helm.sh/release-name: web, "+
			"meta.helm.sh/release-namespace: shop}")
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			ContainSubstring("the Helm release shop/web (which keeps it when it is uninstalled, so the release may not exist "+
				"any more)"))
	})

	It("a component with an empty list takes over nothing, and one without a list takes over what "+
		"no tool claims", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		before := existing(ctx, namespace, "labels: {}")
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), adopting())
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
			HavePrefix("True OwnershipConflict"), ContainSubstring("spec.adopt does not name it (managed by: field manager ")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
			To(Equal(before.GetResourceVersion()))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Adopt = nil })
		expectReady(ctx, g)
		Expect(adoptedOf(ctx, g)).To(ConsistOf(HavePrefix("ConfigMap " + namespace + "/settings from field manager ")))
	})

	It("the history names an adoption of a pass that a change of the spec interrupted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		existing(ctx, namespace, "labels: {}")
		held, known := newToll(namespace), &hearsay{of: func(o client.Object) bool { return o.GetGeneration() > 1 }}
		runOperator(operator, operatorOptions{transport: held.wrap, newCache: known.newCache})
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), servedBy(operator))
		held.await(ctx, 1)
		changeManifests(ctx, g, together(configMap("settings", "ours"), configMap("more", "ours")))
		Eventually(ctx, known.everybody).Should(BeTrue())
		close(held.paid)
		expectReady(ctx, g)
		Expect(adoptedOf(ctx, g)).To(ConsistOf(HavePrefix("ConfigMap " + namespace + "/settings from field manager ")))
		Expect(current(ctx, g).Status.History[0].AdoptedCount).To(BeEquivalentTo(1))
	})

	It("a list takes no object from another component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		one := newGadget(ctx, namespace, "one", configMap("settings", "one"))
		expectReady(ctx, one)
		two := newGadget(ctx, namespace, "two", configMap("settings", "two"), adopting(settingsRule))
		expectCondition(ctx, two, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"]).To(HaveKeyWithValue("value", "one"))
	})

	It("a dependent that lost its owner label is repaired, although it has the mark of another tool and the "+
		"list is empty", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), adopting())
		expectReady(ctx, g)
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), fmt.Sprintf(
			`{"metadata":{"labels":{"%s":null},"annotations":{"meta.helm.sh/release-name":"web"}}}`, ownerLabel))
		Eventually(ctx, func() map[string]string {
			return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetLabels()
		}).Should(HaveKey(ownerLabel))
		expectReady(ctx, g)
	})

	It("a dependent that another tool deleted and created again is not taken back", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		existing(ctx, namespace, marks["the Helm release shop/web"](namespace))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("it belongs to the Helm release shop/web"))
	})

	It("a copy of a dependent that somebody made at a rendered place is an object of somebody else, and is "+
		"named as a copy", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("first", "ours"), adopting())
		expectReady(ctx, g)
		first := mustGet(ctx, "v1", "ConfigMap", namespace, "first")
		Expect(first.GetAnnotations()).To(HaveKeyWithValue(operatorName+"/object", "ConfigMap "+namespace+"/first"))
		copied := first.DeepCopy()
		copied.SetName("settings")
		copied.SetUID("")
		copied.SetResourceVersion("")
		copied.SetManagedFields(nil)
		copied.Object["data"] = map[string]any{"value": "theirs", "foreign": "x"}
		Expect(k8s.Create(ctx, copied, client.FieldOwner("kubectl-create"))).To(Succeed())

		both := together(configMap("first", "ours"), configMap("settings", "ours"))
		changeManifests(ctx, g, both)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"), ContainSubstring(
			"it exists already, and is a copy of ConfigMap "+namespace+"/first that another client made with the marks of the "+
				"component, and spec.adopt does not name it (managed by: field manager kubectl-create)")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
			To(Equal(copied.GetResourceVersion()))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Adopt = []metav1alpha1.AdoptRule{settingsRule} })
		expectReady(ctx, g)
		adopted := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		Expect(adopted.GetUID()).To(Equal(copied.GetUID()))
		Expect(adopted.GetAnnotations()).To(HaveKeyWithValue(operatorName+"/object", "ConfigMap "+namespace+"/settings"))
		Expect(adopted.Object["data"]).To(HaveKeyWithValue("value", "ours"))
		Expect(adoptedOf(ctx, g)).To(ConsistOf("ConfigMap " + namespace + "/settings from field manager kubectl-create"))
	})

	It("a copy at a rendered place that is not adopted stays when the component is deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("first", "ours"), adopting())
		expectReady(ctx, g)
		copied := mustGet(ctx, "v1", "ConfigMap", namespace, "first")
		copied.SetName("settings")
		copied.SetUID("")
		copied.SetResourceVersion("")
		copied.SetManagedFields(nil)
		Expect(k8s.Create(ctx, copied, client.FieldOwner("kubectl-create"))).To(Succeed())
		changeManifests(ctx, g, together(configMap("first", "ours"), configMap("settings", "ours")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, HavePrefix("True OwnershipConflict"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "first")).To(BeFalse())
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()).To(Equal(copied.GetUID()))
	})

	It("an object without the annotation that names it, which an earlier version wrote, gets it with the next write, and "+
		"counts as a dependent when it is restored", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), servedBy(operator), adopting())
		expectReady(ctx, g)
		settle(ctx, operator)
		stop()
		backup := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		annotations := backup.GetAnnotations()
		delete(annotations, operator+"/object")
		backup.SetAnnotations(annotations)
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		backup.SetUID("")
		backup.SetResourceVersion("")
		backup.SetManagedFields(nil)
		Expect(k8s.Create(ctx, backup, client.FieldOwner("restore"))).To(Succeed())
		runOperator(operator, operatorOptions{})
		expectReady(ctx, g)
		Eventually(ctx, func() map[string]string {
			return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetAnnotations()
		}).Should(HaveKeyWithValue(operator+"/object", "ConfigMap "+namespace+"/settings"))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()).To(Equal(backup.GetUID()))
	})

	It("the namespace of a component that is restored in the same cluster goes on without a hand", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), adopting())
		expectReady(ctx, g)
		backup := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"))
		backup.SetUID("")
		backup.SetResourceVersion("")
		backup.SetManagedFields(nil)
		Expect(k8s.Create(ctx, backup, client.FieldOwner("restore"))).To(Succeed())
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()).To(Equal(backup.GetUID()))
	})

	It("the objects of a component that was restored in another cluster are taken over if the component lists the "+
		"previous cluster", func(ctx SpecContext) {
		const previous = "6f0b6f3c-0000-4000-8000-7d5e1c1b2a3f"
		namespace := newNamespace(ctx)
		owner := manifests.Owner{
			Cluster: previous, Reconciler: operatorName, Group: gadget.GroupVersion.Group, Kind: "Gadget", Namespace: namespace,
			Name: "app",
		}
		restored := existing(ctx, namespace, fmt.Sprintf("labels: {%s: %s}, annotations: {%s: %s}",
			ownerLabel, owner.ID(), operatorName+"/owner-id", owner))
		stranger := owner
		stranger.Name = "other"
		create(ctx,
			fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n"+
				"metadata: {name: stranger, namespace: %s, labels: {%s: %s}, annotations: {%s: %s}}",
				namespace, ownerLabel, stranger.ID(), operatorName+"/owner-id", stranger))
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "ours"), configMap("stranger", "ours")),
			adopting(settingsRule))
		Eventually(ctx, func() []metav1alpha1.DependentReport { return current(ctx, g).Status.Waiting }).Should(ConsistOf(
			HaveField("Message", ContainSubstring(`add {cluster: "`+previous+`"} to spec.adopt; `)),
			HaveField("Message", ContainSubstring("it is owned by Gadget.gadgets.example.com "+namespace+"/other")),
		))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
			To(Equal(restored.GetResourceVersion()))

		change(ctx, g, adopting(metav1alpha1.AdoptRule{Cluster: previous}))
		Eventually(ctx, func() any { return mustGet(ctx, "v1", "ConfigMap", namespace, "settings").Object["data"] }).
			Should(HaveKeyWithValue("value", "ours"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(namespace+"/stranger")))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "stranger").GetLabels()).To(HaveKeyWithValue(ownerLabel,
			stranger.ID()))
		changeManifests(ctx, g, configMap("settings", "ours"))
		expectReady(ctx, g)
	})

	It("an object that replaced a listed one is not adopted; the message says which one the "+
		"list permits", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		listed := existing(ctx, namespace, "labels: {team: a}")
		confirmed := settingsRule
		confirmed.UID = listed.GetUID()
		remove(ctx, listed)
		replaced := existing(ctx, namespace, "labels: {team: b}")
		g := newGadget(ctx, namespace, "app", configMap("settings", "ours"), adopting(confirmed))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
			ContainSubstring(fmt.Sprintf(
				"spec.adopt permits the object with the UID %s, and it has the UID %s", listed.GetUID(), replaced.GetUID()))))
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetResourceVersion()).
			To(Equal(replaced.GetResourceVersion()))

		confirmed.UID = replaced.GetUID()
		change(ctx, g, adopting(confirmed))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID()).To(Equal(replaced.GetUID()))
	})

	It("a complete Job that is adopted does not run again, which the preview says", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		create(ctx, strings.Replace(job("work", "1"), "{name:", "{namespace: "+namespace+", name:", 1))
		Eventually(ctx, func() string {
			return fmt.Sprint(mustGet(ctx, "batch/v1", "Job", namespace, "work").Object["status"])
		}).Should(ContainSubstring("type:Complete"))
		before := mustGet(ctx, "batch/v1", "Job", namespace, "work").GetUID()
		g := newGadget(ctx, namespace, "app", "", func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		const note = "it is complete already, so it does not run again"
		forecast, err := foresee(ctx, current(ctx, g), job("work", "1"))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Steps).To(ContainElement(HaveField("Note", note)))

		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = false, job("work", "1") })
		expectReady(ctx, g)
		Expect(mustGet(ctx, "batch/v1", "Job", namespace, "work").GetUID()).To(Equal(before))
	})

	It("a preview says from whom an object is taken over, and which of its values get lost", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		existing(ctx, namespace, marks["the Helm release shop/web"](namespace))
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), `{"metadata":{"annotations":{"note":"theirs"}}}`)
		g := newGadget(ctx, namespace, "app", "", func(g *gadget.Gadget) { g.Spec.Suspend = true }, adopting(settingsRule))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		forecast, err := foresee(ctx, current(ctx, g), configMap("settings", "ours"))
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Steps).To(HaveLen(1))
		Expect(forecast.Steps[0].Adopts).To(Equal(&result.Adoption{
			UID:    mustGet(ctx, "v1", "ConfigMap", namespace, "settings").GetUID(),
			From:   "the Helm release shop/web",
			Lost:   []result.LostValue{{Path: "data.value", Before: `"theirs"`, After: `"ours"`}},
			Listed: true,
		}))
	})
})
