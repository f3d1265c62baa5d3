package conformance_test

import (
	"context"
	"fmt"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Restores of backups:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// restore creates an object of a backup with another client, as kubectl create does.
	restore := func(ctx context.Context, backup *unstructured.Unstructured) {
		GinkgoHelper()
		backup.SetUID("")
		backup.SetResourceVersion("")
		backup.SetManagedFields(nil)
		Expect(k8s.Create(ctx, backup, client.FieldOwner("kubectl-create"))).To(Succeed())
	}
	// moveFrom gives an object the marks of a component in another cluster.
	moveFrom := func(cluster string, backup *unstructured.Unstructured) {
		owner := manifests.Owner{
			Cluster: cluster, Reconciler: operator, Group: gadget.GroupVersion.Group, Kind: "Gadget", Namespace: namespace,
			Name: "app",
		}
		labels, annotations := map[string]string{}, map[string]string{}
		maps.Copy(labels, backup.GetLabels())
		maps.Copy(annotations, backup.GetAnnotations())
		labels[operator+"/"+manifests.LabelOwnerID], annotations[operator+"/"+manifests.AnnotationOwnerID] = owner.ID(),
			owner.String()
		backup.SetLabels(labels)
		backup.SetAnnotations(annotations)
	}

	for _, withStatus := range []bool{false, true} {
		It(fmt.Sprintf("a namespace that is restored in the same cluster goes on without a hand, also with an empty list of "+
			"objects to adopt (with the status: %t)", withStatus), func(ctx SpecContext) {
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"), configMap("other", "a")),
				servedBy(operator), adopting())
			expectReady(ctx, g)
			settle(ctx, operator)
			saved := current(ctx, g)
			backups := []*unstructured.Unstructured{
				mustGet(ctx, "v1", "ConfigMap", namespace, "settings"), mustGet(ctx, "v1", "ConfigMap", namespace, "other"),
			}
			home := mustGet(ctx, "v1", "Namespace", "", namespace)
			remove(ctx, home)
			expectNotFound(ctx, home)

			home.SetFinalizers(nil)
			home.Object["spec"] = map[string]any{}
			for _, backup := range append([]*unstructured.Unstructured{home}, backups...) {
				restore(ctx, backup)
			}
			status := saved.Status
			saved.UID, saved.ResourceVersion, saved.ManagedFields, saved.Status = "", "", nil, gadget.GadgetStatus{}
			mark := markAudit(ctx)
			Expect(k8s.Create(ctx, saved, client.FieldOwner(backupTool))).To(Succeed())
			if withStatus {
				writeBack(ctx, saved, status)
			}
			Eventually(ctx, func() []string { return recordedNames(ctx, saved) }).Should(ConsistOf("settings", "other"))
			expectReady(ctx, saved)
			settle(ctx, operator)
			for _, backup := range backups {
				Expect(mustGet(ctx, "v1", "ConfigMap", namespace, backup.GetName()).GetUID()).To(Equal(backup.GetUID()))
			}
			Expect(story(ctx, mark, operator, namespace)).NotTo(ContainElement(HavePrefix("delete ")))

			changeManifests(ctx, saved, configMap("settings", "b"))
			Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "other") }).Should(BeFalse())
			expectReady(ctx, saved)
			remove(ctx, saved)
			expectNotFound(ctx, saved)
			Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		})
	}

	for cluster, moved := range map[string]bool{"in the same cluster": false, "in another cluster": true} {
		It("a restored object keeps fields that its manifest does not set, also after later changes: "+
			cluster, func(ctx SpecContext) {
			const previous = "6f0b6f3c-0000-4000-8000-7d5e1c1b2a3f"
			runOperator(operator, operatorOptions{})
			g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
			expectReady(ctx, g)
			patch(ctx, newConfigMap(namespace, "settings"), `{"data":{"user":"theirs"}}`)
			backup := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			remove(ctx, g)
			expectNotFound(ctx, g)
			adopts := adopting()
			if moved {
				moveFrom(previous, backup)
				adopts = adopting(metav1alpha1.AdoptRule{Cluster: previous})
			}
			restore(ctx, backup)
			g = newGadget(ctx, namespace, "app", configMap("settings", "b"), servedBy(operator), adopts)
			expectReady(ctx, g)
			Expect(content(ctx, "ConfigMap", namespace, "settings")).To(Equal(map[string]any{"value": "b", "user": "theirs"}))
			changeManifests(ctx, g, configMap("settings", "c"))
			Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings") }).
				Should(Equal(map[string]any{"value": "c", "user": "theirs"}))
		})
	}

	It("a preview takes over a bound claim from another cluster, as the operator does", func(ctx SpecContext) {
		const previous = "6f0b6f3c-0000-4000-8000-7d5e1c1b2a3f"
		const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		operator = operatorName
		backup := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(claim), &backup.Object)).To(Succeed())
		backup.SetNamespace(namespace)
		Expect(unstructured.SetNestedField(backup.Object, "volume-1", "spec", "volumeName")).To(Succeed())
		Expect(unstructured.SetNestedField(backup.Object, "slow", "spec", "storageClassName")).To(Succeed())
		moveFrom(previous, backup)
		restore(ctx, backup)
		g := newGadget(ctx, namespace, "app", "", func(g *gadget.Gadget) { g.Spec.Suspend = true },
			adopting(metav1alpha1.AdoptRule{Cluster: previous}))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		forecast, err := foresee(ctx, current(ctx, g), claim)
		Expect(err).NotTo(HaveOccurred())
		Expect(forecast.Steps).To(HaveExactElements(And(
			HaveField("Effect", result.EffectAdopt),
			HaveField("Adopts.Lost", Not(ContainElement(HaveField("Path", HavePrefix("spec"))))),
		)))
		changeManifests(ctx, g, claim)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = false })
		Eventually(ctx, func() any {
			return mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data").GetAnnotations()[operator+"/"+
				manifests.AnnotationOwnerID]
		}).ShouldNot(ContainSubstring(previous))
		Expect(mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data").Object["spec"]).To(And(
			HaveKeyWithValue("volumeName", "volume-1"), HaveKeyWithValue("storageClassName", "slow"),
		))
	})

	Context("generated values without the record of the pinned rendering:", func() {
		const generated = `{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: "{{ randAlphaNum 16 }}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {value: "{{ randAlphaNum 16 }}"}}
`
		// lose applies the manifests, deletes the component, and returns the Secret of a backup made before.
		lose := func(ctx context.Context) *unstructured.Unstructured {
			GinkgoHelper()
			runOperator(operator, operatorOptions{generate: &chart{}})
			g := newGadget(ctx, namespace, "app", generated, servedBy(operator))
			expectReady(ctx, g)
			backup := mustGet(ctx, "v1", "Secret", namespace, "login")
			remove(ctx, g)
			expectNotFound(ctx, g)
			return backup
		}

		It("in the same cluster, a restored object keeps them, and an object that was not restored "+
			"gets new ones", func(ctx SpecContext) {
			backup := lose(ctx)
			restore(ctx, backup)
			g := newGadget(ctx, namespace, "app", generated, servedBy(operator))
			expectReady(ctx, g)
			Expect(content(ctx, "Secret", namespace, "login")).To(Equal(backup.Object["data"]))
			Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RenderedSetLost") }).Should(ContainElement(And(
				ContainSubstring("values of existing objects that are kept: Secret login: stringData.password"),
				Not(ContainSubstring("new values: ConfigMap")),
			)))
			changeManifests(ctx, g, generated+"# new inputs\n")
			Eventually(ctx, func() any { return content(ctx, "Secret", namespace, "login") }).
				ShouldNot(Equal(backup.Object["data"]))
		})

		It("an object keeps them that another component takes over with the adoption policy always", func(ctx SpecContext) {
			runOperator(operator, operatorOptions{generate: &chart{}})
			one := newGadget(ctx, namespace, "one", generated, servedBy(operator))
			expectReady(ctx, one)
			password, value := content(ctx, "Secret", namespace, "login"), content(ctx, "ConfigMap", namespace, "other")
			two := newGadget(ctx, namespace, "two", generated,
				servedBy(operator), func(g *gadget.Gadget) { g.Spec.Policies.Adoption = metav1alpha1.AdoptAlways })
			expectReady(ctx, two)
			remove(ctx, one)
			expectNotFound(ctx, one)
			Expect(content(ctx, "Secret", namespace, "login")).To(Equal(password))
			Expect(content(ctx, "ConfigMap", namespace, "other")).To(Equal(value))
		})

		It("in another cluster, an object keeps them that the component takes over from its "+
			"previous cluster", func(ctx SpecContext) {
			const previous = "6f0b6f3c-0000-4000-8000-7d5e1c1b2a3f"
			backup := lose(ctx)
			moveFrom(previous, backup)
			restore(ctx, backup)
			g := newGadget(ctx, namespace, "app", generated, servedBy(operator), adopting())
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True OwnershipConflict"),
				ContainSubstring(previous)))
			change(ctx, g, adopting(metav1alpha1.AdoptRule{Cluster: previous}))
			expectReady(ctx, g)
			Expect(content(ctx, "Secret", namespace, "login")).To(Equal(backup.Object["data"]))
		})
	})
})
