package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// expectReleased waits until an object has no mark of an operator, and expects that nobody deletes it.
func expectReleased(ctx context.Context, operator string, get func() *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func() map[string]string { return get().GetLabels() }).ShouldNot(HaveKey(operator + "/owner-id"))
	Expect(get().GetDeletionTimestamp()).To(BeNil(), get().GetName())
}

// effectsOf returns the effects of a forecast on objects, by kind and name.
func effectsOf(f result.Forecast) map[string]result.Effect {
	effects := map[string]result.Effect{}
	for _, s := range f.Steps {
		effects[s.Key.Kind+" "+s.Key.Name] = s.Effect
	}
	return effects
}

var _ = Describe("Dependents that their own component needs:", func() {
	ownNamespace := func(namespace string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {part: a}}", namespace)
	}
	live := func(ctx context.Context, apiVersion, kind, namespace, name string) func() *unstructured.Unstructured {
		return func() *unstructured.Unstructured { return mustGet(ctx, apiVersion, kind, namespace, name) }
	}

	It("the namespace of the component is applied, and released when the component is deleted, as the "+
		"preview says", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(ownNamespace(namespace), configMap("settings", "a")))
		expectReady(ctx, g)
		Expect(mustGet(ctx, "v1", "Namespace", "", namespace).GetLabels()).To(HaveKeyWithValue("part", "a"))
		forecast, err := previewOf(operatorName).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(effectsOf(forecast)).To(Equal(map[string]result.Effect{
			"Namespace " + namespace: result.EffectRelease, "ConfigMap settings": result.EffectDelete,
		}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectReleased(ctx, operatorName, live(ctx, "v1", "Namespace", "", namespace))
	})

	It("the namespace of the component is released if it is no longer rendered, also with the delete "+
		"policy delete", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		manifest := strings.Replace(ownNamespace(namespace), "labels:",
			"annotations: {"+operatorName+"/delete-policy: delete}, labels:", 1)
		g := newGadget(ctx, namespace, "app", together(manifest, configMap("settings", "a")))
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("settings", "b"))
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal("b"))
		expectReleased(ctx, operatorName, live(ctx, "v1", "Namespace", "", namespace))
		expectReady(ctx, g)
	})

	It("its service account, and the role and the binding with its rights, are released when the "+
		"component is deleted", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		user := serviceAccountUser(namespace, "deployer")
		rules := `[{apiGroups: ["", rbac.authorization.k8s.io], resources: [configmaps, serviceaccounts, roles, rolebindings], verbs: ["*"]}]`
		create(ctx, fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: first, namespace: %[1]s}
rules: %[2]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: first, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: first}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[3]q}]`, namespace, rules, user))
		set := fmt.Sprintf(`apiVersion: v1
kind: ServiceAccount
metadata: {name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: own}
rules: %[2]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: own}
subjects: [{kind: ServiceAccount, name: deployer, namespace: %[1]s}]`, namespace, rules)
		runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(set, configMap("settings", "a")), servedBy(operator),
			asServiceAccount("deployer"), retrySoon)
		expectReady(ctx, g)
		settle(ctx, operator)
		remove(ctx, mustGet(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "first"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(configMapExists(ctx, namespace, "settings")).To(BeFalse())
		expectReleased(ctx, operator, live(ctx, "v1", "ServiceAccount", namespace, "deployer"))
		expectReleased(ctx, operator, live(ctx, "rbac.authorization.k8s.io/v1", "Role", namespace, "own"))
		expectReleased(ctx, operator, live(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "own"))
	})

	It("what it refers to is not pruned, and is deleted with the component", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		refers := func(g *gadget.Gadget) {
			g.Spec.References = []metav1alpha1.Reference{{Kind: metav1alpha1.ConfigMapReference, Name: "values", Optional: true}}
		}
		kept := newGadget(ctx, namespace, "app", together(configMap("values", "a"), configMap("settings", "a")), refers)
		expectReady(ctx, kept)
		changeManifests(ctx, kept, configMap("settings", "b"))
		Eventually(ctx, func() any { return content(ctx, "ConfigMap", namespace, "settings")["value"] }).Should(Equal("b"))
		expectReleased(ctx, operatorName, live(ctx, "v1", "ConfigMap", namespace, "values"))
		changeManifests(ctx, kept, together(configMap("values", "a"), configMap("settings", "b")))
		Eventually(ctx, func() map[string]string { return mustGet(ctx, "v1", "ConfigMap", namespace, "values").GetLabels() }).
			Should(HaveKey(operatorName + "/owner-id"))
		expectReady(ctx, kept)
		remove(ctx, kept)
		expectNotFound(ctx, kept)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
	})
})

var _ = Describe("A volume and its claim in one set:", func() {
	volume := func(name, claimRef string) string {
		return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp/none}, storageClassName: ""%s}`,
			name, claimRef)
	}
	claim := func(volumeName, annotations string) string {
		return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {%s}}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}%s}`,
			annotations, volumeName)
	}
	for what, set := range map[string]func(namespace string) (volume, claim string){
		"both name each other": func(namespace string) (string, string) {
			return volume(namespace, ", claimRef: {namespace: "+namespace+", name: data}"), claim(", volumeName: "+namespace, "")
		},
		"only the volume names the claim": func(namespace string) (string, string) {
			return volume(namespace, ", claimRef: {namespace: "+namespace+", name: data}"), claim("", "")
		},
		"only the claim names the volume": func(namespace string) (string, string) {
			return volume(namespace, ""), claim(", volumeName: "+namespace, "")
		},
	} {
		It("the volume is released with the claim, as the preview says: "+what, func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			pv, pvc := set(namespace)
			g := newGadget(ctx, namespace, "app", together(pv, pvc))
			expectReady(ctx, g)
			forecast, err := previewOf(operatorName).Delete(ctx, current(ctx, g))
			Expect(err).NotTo(HaveOccurred())
			Expect(effectsOf(forecast)).To(Equal(map[string]result.Effect{
				"PersistentVolume " + namespace: result.EffectRelease, "PersistentVolumeClaim data": result.EffectRelease,
			}))
			remove(ctx, g)
			expectNotFound(ctx, g)
			left := mustGet(ctx, "v1", "PersistentVolume", "", namespace)
			Expect(left.GetDeletionTimestamp()).To(BeNil())
			Expect(left.GetLabels()).NotTo(HaveKey(operatorName + "/owner-id"))
			remove(ctx, mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data"))
			remove(ctx, left)
		})
	}

	It("the class of a kept claim, which Kubernetes protects, is released with the claim, as the "+
		"preview says", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		class := "apiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {name: " + namespace +
			"}\ndriverName: example.com\nparameters: {iops: \"1\"}"
		g := newGadget(ctx, namespace, "app", together(class, claim(", volumeAttributesClassName: "+namespace, "")))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("PVC is not Bound"))
		Expect(mustGet(ctx, "storage.k8s.io/v1", "VolumeAttributesClass", "", namespace).GetFinalizers()).
			To(ContainElement("kubernetes.io/vac-protection"))
		forecast, err := previewOf(operatorName).Delete(ctx, current(ctx, g))
		Expect(err).NotTo(HaveOccurred())
		Expect(effectsOf(forecast)).To(Equal(map[string]result.Effect{
			"VolumeAttributesClass " + namespace: result.EffectRelease, "PersistentVolumeClaim data": result.EffectRelease,
		}))
		remove(ctx, g)
		expectNotFound(ctx, g)
		left := mustGet(ctx, "storage.k8s.io/v1", "VolumeAttributesClass", "", namespace)
		Expect(left.GetDeletionTimestamp()).To(BeNil())
		Expect(left.GetLabels()).NotTo(HaveKey(operatorName + "/owner-id"))
		remove(ctx, left)
	})

	It("a claim that is used by the pods of a kept workload is released with the workload", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		web := deployment("web", operatorName+"/delete-policy: orphan")
		g := newGadget(ctx, namespace, "app", together(claim("", operatorName+"/delete-policy: delete"),
			web+"\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("PVC is not Bound"))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data").GetDeletionTimestamp()).To(BeNil())
		Expect(mustGet(ctx, "apps/v1", "Deployment", namespace, "web").GetDeletionTimestamp()).To(BeNil())
	})

	It("the volume is deleted with a claim that is deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app",
			together(volume(namespace, ", claimRef: {namespace: "+namespace+", name: data}"),
				claim(", volumeName: "+namespace, operatorName+"/delete-policy: delete")))
		expectReady(ctx, g)
		pv := mustGet(ctx, "v1", "PersistentVolume", "", namespace)
		remove(ctx, g)
		expectNotFound(ctx, g)
		expectNotFound(ctx, pv)
	})
})
