package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
)

var _ = Describe("Changes of the manifests:", func() {
	field := func(o *unstructured.Unstructured, path ...string) any {
		v, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return v
	}
	data := func(ctx context.Context, namespace, name string) any {
		GinkgoHelper()
		return field(mustGet(ctx, "v1", "ConfigMap", namespace, name), "data")
	}

	forEachPolicy(func(policy string) {
		It("a change of the manifests writes only the changed dependents", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			same := configMaps("cm", 19, "a", updatePolicy(policy))
			g := newGadget(ctx, namespace, "app", together(same, configMap("changing", "a", updatePolicy(policy))))
			expectReady(ctx, g)
			mark := markAudit(ctx)
			changeManifests(ctx, g, together(same, configMap("changing", "b", updatePolicy(policy))))
			expectReady(ctx, g)
			requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace)
			Expect(requests.Resource("configmaps").Writes()).To(HaveLen(1), "%v", verbs(requests))
			budget := 1 + 3
			if policy == "replace" {
				budget = 2 + 3
			}
			Expect(len(requests)).To(BeNumerically("<=", budget), "%v", verbs(requests))
			Expect(data(ctx, namespace, "changing")).To(Equal(map[string]any{"value": "b"}))
		})

		It("a change of the manifests removes fields that a manifest no longer contains, and keeps fields that other "+
			"clients added", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			text := configMap("settings", "a", updatePolicy(policy))
			g := newGadget(ctx, namespace, "app", strings.Replace(text, `data: {`, `data: {dropped: x, `, 1))
			expectReady(ctx, g)
			patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "settings"),
				`{"data":{"theirs":"x"},"metadata":{"labels":{"theirs":"x"},"finalizers":["example.com/theirs"]}}`)
			changeManifests(ctx, g, removeLine(text, "labels: {team"))
			expectReady(ctx, g)
			changed := mustGet(ctx, "v1", "ConfigMap", namespace, "settings")
			Expect(field(changed, "data")).To(Equal(map[string]any{"value": "a", "theirs": "x"}))
			Expect(changed.GetLabels()).To(And(HaveKeyWithValue("theirs", "x"), Not(HaveKey("team"))))
			Expect(changed.GetFinalizers()).To(ConsistOf("example.com/theirs"))
			patch(ctx, changed, `{"metadata":{"finalizers":null}}`)
		})

		It("a change of the manifests removes an item from a list, and keeps the items that other "+
			"clients added", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			service := func(ports string) string {
				return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {%s}}\nspec:\n"+
					"  type: NodePort\n  selector: {app: web}\n  ports: [%s]",
					updatePolicy(policy), ports)
			}
			g := newGadget(ctx, namespace, "app", service("{name: a, port: 80}, {name: b, port: 81}"))
			expectReady(ctx, g)
			before := mustGet(ctx, "v1", "Service", namespace, "web")
			theirs := client.RawPatch(types.JSONPatchType,
				[]byte(`[{"op":"add","path":"/spec/ports/-","value":{"name":"theirs","port":90}}]`))
			Expect(k8s.Patch(ctx, mustGet(ctx, "v1", "Service", namespace, "web"), theirs)).To(Succeed())
			changeManifests(ctx, g, service("{name: a, port: 80, targetPort: 8080}"))
			expectReady(ctx, g)
			after := mustGet(ctx, "v1", "Service", namespace, "web")
			Expect(field(after, "spec", "clusterIP")).To(Equal(field(before, "spec", "clusterIP")))
			ports := func(o *unstructured.Unstructured) map[string]any {
				items, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
				byName := map[string]any{}
				for _, item := range items {
					port, _ := item.(map[string]any)
					byName[fmt.Sprint(port["name"])] = port["nodePort"]
				}
				return byName
			}
			Expect(ports(after)).To(And(HaveLen(2), HaveKeyWithValue("a", ports(before)["a"]), HaveKey("theirs")))
		})

		It("a change of an immutable field stalls the component, names the field, and no "+
			"dependent is changed", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			first := deployment("web", updatePolicy(policy))
			g := newGadget(ctx, namespace, "app", together(first, deployment("sibling", updatePolicy(policy))))
			expectReady(ctx, g)
			changed := strings.NewReplacer("matchLabels: {app: web}", "matchLabels: {app: other}", "labels: {app: web}",
				"labels: {app: other}").Replace(first)
			changeManifests(ctx, g, together(changed, deployment("sibling", updatePolicy(policy))+"\n  revisionHistoryLimit: 3"))
			expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(
				HavePrefix("True InvalidManifests"), ContainSubstring("Deployment.apps "+namespace+"/web"),
				ContainSubstring("spec.selector"), ContainSubstring("immutable")))
			Expect(field(mustGet(ctx, "apps/v1", "Deployment", namespace, "sibling"), "spec", "revisionHistoryLimit")).
				NotTo(Equal(int64(3)))
			changeManifests(ctx, g, together(first, deployment("sibling", updatePolicy(policy))))
			expectReady(ctx, g)
		})

		It("manifests that were exported from live objects are accepted, and cause no drift", func(ctx SpecContext) {
			namespace, operator := newNamespace(ctx), newOperatorName()
			runOperator(operator, operatorOptions{})
			export := fmt.Sprintf(`apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata:
    name: secret
    annotations: {%[1]s/update-policy: %[2]s}
    uid: 5e0c6b1a-0000-4000-8000-000000000001
    resourceVersion: "12"
    generation: 4
    creationTimestamp: null
    managedFields: [{manager: kubectl, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]
  stringData: {a: one}
  data: {b: dHdv}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: %[3]s, namespace: default, creationTimestamp: null, annotations: {%[1]s/update-policy: %[2]s}}
  rules: []
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, creationTimestamp: null, annotations: {%[1]s/update-policy: %[2]s}}
  spec:
    replicas: 1
    strategy: {}
    selector: {matchLabels: {app: web}}
    template:
      metadata: {creationTimestamp: null, labels: {app: web}}
      spec:
        volumes: [{name: tmp, emptyDir: {}}]
        containers: [{name: main, image: "nginx:1", resources: {limits: {cpu: 1000m, memory: 1.5Gi}}, env: [{name: E, value: ""}], ports: [{containerPort: 80}]}]
  status: {}
`, operator, policy, namespace)
			g := newGadget(ctx, namespace, "app", export, servedBy(operator))
			expectReady(ctx, g)
			Expect(field(mustGet(ctx, "v1", "Secret", namespace, "secret"), "data")).
				To(Equal(map[string]any{"a": "b25l", "b": "dHdv"}))
			settle(ctx, operator)
			mark := markAudit(ctx)
			for range 2 {
				requestPass(ctx, g, operator)
			}
			Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty(),
				"the operator made writes, although no exported field has drifted")
			remove(ctx, g)
			expectNotFound(ctx, g)
		})
	})

	It("a failed upgrade can be reverted to the previous manifests", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		before := together(configMap("settings", "a"), deployment("web", order(1)))
		g := newGadget(ctx, namespace, "app", before)
		expectReady(ctx, g)
		changeManifests(ctx, g, together(configMap("settings", "b"), heldDeployment("web", order(1))))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "False DependentsNotReady")
		Expect(data(ctx, namespace, "settings")).To(Equal(map[string]any{"value": "b"}))
		changeManifests(ctx, g, before)
		expectReady(ctx, g)
		Expect(data(ctx, namespace, "settings")).To(Equal(map[string]any{"value": "a"}))
	})

	It("after many changes of the manifests in a row the last change is applied", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 30, "start"))
		for i := range 15 {
			changeManifests(ctx, g, configMaps("cm", 30-i, fmt.Sprint(i)))
		}
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(16))
		for i := range 16 {
			Expect(data(ctx, namespace, fmt.Sprintf("cm-%d", i))).To(Equal(map[string]any{"value": "14"}))
		}
		_, err := get(ctx, "v1", "ConfigMap", namespace, "cm-16")
		Expect(err).To(HaveOccurred())
	})

	It("a change of 300 dependents needs one request for each dependent", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 300, "a"))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		changeManifests(ctx, g, configMaps("cm", 300, "b"))
		expectReady(ctx, g)
		requests := inNamespace(requestsSince(ctx, mark, operatorName), namespace)
		Expect(len(requests)).To(BeNumerically("<=", 303))
	})
})

var _ = Describe("Pruning:", func() {
	It("dependents that are no longer rendered are pruned in the order of a deletion when the other "+
		"dependents are ready", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("a", "x"), configMap("b", "x", order(2)),
			configMap("c", "x", deleteOrder(5))))
		expectReady(ctx, g)
		mark := markAudit(ctx)
		changeManifests(ctx, g, heldDeployment("web"))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("web")))
		Expect(configMapExists(ctx, namespace, "a") && configMapExists(ctx, namespace, "b") && configMapExists(ctx, namespace,
			"c")).To(BeTrue())
		changeManifests(ctx, g, deployment("web"))
		expectReady(ctx, g)
		var names []string
		for _, e := range inNamespace(requestsSince(ctx, mark, operatorName), namespace).Verb("delete") {
			names = append(names, e.Name)
		}
		Expect(names).To(Equal([]string{"b", "a", "c"}))
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(1))
	})

	It("an Ingress that is no longer rendered is pruned at once, although the Deployment is not ready, if its prune "+
		"policy is at-once", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		page := func(exposed bool) string {
			manifests := []string{heldDeployment("page"), configMap("page", "x")}
			if exposed {
				manifests = append(manifests, "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"+
					"metadata: {name: page, annotations: {"+setting("prune-policy", "at-once")+"}}\n"+
					"spec: {defaultBackend: {service: {name: page, port: {number: 80}}}}")
			}
			return together(manifests...)
		}
		g := newGadget(ctx, namespace, "app", page(true))
		ingress := func() error {
			_, err := get(ctx, "networking.k8s.io/v1", "Ingress", namespace, "page")
			return err
		}
		Eventually(ctx, ingress).Should(Succeed())
		// The Deployment changes no more.
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("Available: 0/1")))
		settle(ctx, operatorName)
		mark := markAudit(ctx)
		changeManifests(ctx, g, page(false))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(HavePrefix("False DependentsNotReady"),
			ContainSubstring("page")))
		expectDeletedInOnePass(ctx, mark, namespace, "ingresses")
		Expect(ingress()).To(MatchError(apierrors.IsNotFound, "not found"))
		Expect(configMapExists(ctx, namespace, "page")).To(BeTrue(), "the other dependents stay")
		Eventually(ctx, func() []string { return current(ctx, g).Status.Inventory }).Should(HaveLen(2))
	})

	It("a dependent with the prune policy at-once is pruned although an apply failed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		const bad = "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}"
		g := newGadget(ctx, namespace, "app", together(configMap("old", "x", setting("prune-policy", "at-once")), bad))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "DependentFailed")
		settle(ctx, operatorName)
		Expect(configMapExists(ctx, namespace, "old")).To(BeTrue())
		mark := markAudit(ctx)
		changeManifests(ctx, g, bad)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "DependentFailed")
		expectDeletedInOnePass(ctx, mark, namespace, "configmaps")
		Expect(configMapExists(ctx, namespace, "old")).To(BeFalse())
	})

	It("dependents that are no longer rendered stay if an apply failed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMap("old", "x"))
		expectReady(ctx, g)
		changeManifests(ctx, g, "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 0}]}")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, "DependentFailed")
		Expect(configMapExists(ctx, namespace, "old")).To(BeTrue())
	})

	It("if a dependent that is no longer rendered now has another owner, it is removed from the inventory "+
		"and not deleted", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("taken", "x"), configMap("replaced", "x"),
			configMap("kept", "x")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		remove(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "replaced"))
		create(ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: replaced, namespace: "+namespace+"}")
		patchAs(ctx, operatorName, mustGet(ctx, "v1", "ConfigMap", namespace, "taken"), fmt.Sprintf(
			`{"metadata":{"labels":{"%s/owner-id":"6d072c20183f164c974cae4d07a2c3538fdf420c"},"annotations":{"%s/owner-id":"somebody else"}}}`, operatorName, operatorName))
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = false, configMap("kept", "x") })
		expectReady(ctx, g)
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(1))
		Expect(configMapExists(ctx, namespace, "taken") && configMapExists(ctx, namespace, "replaced")).To(BeTrue())
	})

	It("a dependent that is no longer rendered is pruned although its owner label was removed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(configMap("old", "x"), configMap("kept", "x")))
		expectReady(ctx, g)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend = true })
		expectCondition(ctx, g, metav1alpha1.ConditionReady, "Unknown Suspended")
		patch(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "old"), `{"metadata":{"labels":null}}`)
		change(ctx, g, func(g *gadget.Gadget) { g.Spec.Suspend, g.Spec.Manifests = false, configMap("kept", "x") })
		expectReady(ctx, g)
		Expect(configMapExists(ctx, namespace, "old")).To(BeFalse())
	})

	It("a rendering that would prune all dependents is refused", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", configMaps("cm", 3, "x"))
		expectReady(ctx, g)
		changeManifests(ctx, g, "# nothing\n")
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("dependents (3)")))
		Expect(configMapExists(ctx, namespace, "cm-2")).To(BeTrue())
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(3))
	})
})
