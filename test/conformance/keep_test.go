package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// retrySoon sets the retry interval of a gadget to a second.
func retrySoon(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(1) }

// retryLate sets a retry interval of an hour, which is longer than any spec runs.
func retryLate(g *gadget.Gadget) { g.Spec.RetryInterval = seconds(3600) }

// within sets the namespace of a manifest.
func within(namespace, text string) string {
	return strings.Replace(text, "metadata:", "metadata:\n  namespace: "+namespace, 1)
}

// claimManifest renders a PersistentVolumeClaim of a storage class without a provisioner.
func claimManifest(name string, annotations ...string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, annotations: {%s}}
spec: {accessModes: [ReadWriteOnce], storageClassName: manual, resources: {requests: {storage: 1Gi}}}`, name,
		strings.Join(annotations, ", "))
}

var _ = Describe("Namespaces as dependents:", func() {
	var home, inner string
	BeforeEach(func(ctx SpecContext) {
		home = newNamespace(ctx)
		inner = home + "-inner"
	})
	expectKept := func(ctx context.Context) {
		GinkgoHelper()
		Expect(mustGet(ctx, "v1", "Namespace", "", inner).GetDeletionTimestamp()).To(BeNil())
	}

	It("a namespace is not deleted with its component while the namespace contains foreign objects, and is deleted when "+
		"these objects no longer exist", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner), within(inner, configMap("ours", "a"))), retryLate)
		expectReady(ctx, g)
		theirs := create(ctx, within(inner, configMap("theirs", "a")))[0]
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			ContainSubstring("Namespace "+inner), ContainSubstring("ConfigMap "+inner+"/theirs"),
			Not(ContainSubstring("kube-root-ca.crt"))))
		expectKept(ctx)
		mustGet(ctx, "v1", "ConfigMap", inner, "theirs")
		remove(ctx, theirs)
		expectNotFound(ctx, g)
		_, err := get(ctx, "v1", "Namespace", "", inner)
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("objects that controllers create in every namespace do not block the deletion of a namespace, if the operator "+
		"knows these objects or its configuration names them", func(ctx SpecContext) {
		operator := newOperatorName()
		runOperator(operator, operatorOptions{component: component.Options{Dependents: component.Dependents{
			Incidental: []component.Incidental{{Kind: "Secret", Labels: map[string]string{"example.com/copied-to": "all"}}},
		}}})
		g := newGadget(ctx, home, "app", namespaceManifest(inner), retrySoon, servedBy(operator))
		expectReady(ctx, g)
		secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  labels: {example.com/copied-to: %s}"
		create(ctx, together(within(inner, configMap("istio-ca-root-cert", "a")),
			within(inner, fmt.Sprintf(secret, "pull", "all"))))
		theirs := create(ctx, within(inner, fmt.Sprintf(secret, "theirs", "some")))[0]
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, And(
			ContainSubstring("Secret "+inner+"/theirs"), Not(ContainSubstring("istio-ca-root-cert")),
			Not(ContainSubstring(inner+"/pull"))))
		remove(ctx, theirs)
		expectNotFound(ctx, g)
	})

	It("a namespace is not pruned while it contains foreign objects", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner), configMap("settings", "a")), retryLate)
		expectReady(ctx, g)
		theirs := create(ctx, within(inner, configMap("theirs", "a")))[0]
		changeManifests(ctx, g, configMap("settings", "a"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("ConfigMap "+inner+"/theirs"))
		expectKept(ctx)
		remove(ctx, theirs)
		expectReady(ctx, g)
	})

	It("a namespace is not pruned while it contains objects that are still rendered", func(ctx SpecContext) {
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner), within(inner, configMap("ours", "a"))))
		expectReady(ctx, g)
		changeManifests(ctx, g, within(inner, configMap("ours", "a")))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, ContainSubstring("ConfigMap "+inner+"/ours"))
		expectKept(ctx)
	})

	It("an adopted namespace is not deleted while it contains objects from before its adoption", func(ctx SpecContext) {
		create(ctx, together(namespaceManifest(inner), within(inner, configMap("theirs", "a"))))
		g := newGadget(ctx, home, "app", namespaceManifest(inner))
		expectReady(ctx, g)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("ConfigMap "+inner+"/theirs"))
		expectKept(ctx)
	})

	It("a namespace is deleted although it contains objects that Kubernetes and its "+
		"controllers created", func(ctx SpecContext) {
		service := "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec: {selector: {app: web}, ports: [{port: 80}]}"
		g := newGadget(ctx, home, "app", together(namespaceManifest(inner), within(inner, service),
			strings.Replace(deployment("web"), "metadata: {", "metadata: {namespace: "+inner+", ", 1)))
		expectReady(ctx, g)
		Eventually(ctx, func() error { _, err := get(ctx, "v1", "ConfigMap", inner, "kube-root-ca.crt"); return err }).
			Should(Succeed())
		remove(ctx, g)
		expectNotFound(ctx, g)
	})

	It("a namespace is not deleted while its contents cannot be listed", func(ctx SpecContext) {
		operator := newOperatorName()
		refused := &refusal{path: "/namespaces/" + inner + "/secrets", method: http.MethodGet}
		runOperator(operator, operatorOptions{transport: refused.wrap})
		g := newGadget(ctx, home, "app", namespaceManifest(inner), servedBy(operator), retryLate)
		expectReady(ctx, g)
		refused.on.Store(true)
		remove(ctx, g)
		expectCondition(ctx, g, metav1alpha1.ConditionReady,
			And(ContainSubstring("not today"), ContainSubstring("grant the right to list")))
		expectKept(ctx)
		refused.on.Store(false)
		expectNotFound(ctx, g)
	})
})

var _ = Describe("PersistentVolumeClaims as dependents:", func() {
	// bind creates volumes for claims, so that the claims become ready.
	bind := func(ctx context.Context, namespace string, names ...string) {
		GinkgoHelper()
		for _, name := range names {
			create(ctx, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]s}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  capacity: {storage: 1Gi}
  hostPath: {path: /tmp/%[1]s-%[2]s}
  claimRef: {namespace: %[1]s, name: %[2]s}`, namespace, name))
		}
	}
	marks := func(ctx context.Context, namespace, name string) []string {
		GinkgoHelper()
		o := mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, name)
		Expect(o.GetDeletionTimestamp()).To(BeNil())
		var found []string
		for _, of := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
			for key := range of {
				if strings.HasPrefix(key, operatorName) {
					found = append(found, key)
				}
			}
		}
		return found
	}

	It("when its component is deleted, a PersistentVolumeClaim is orphaned, unless its manifest sets the delete "+
		"policy delete", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGadget(ctx, namespace, "app", together(claimManifest("data"),
			claimManifest("cache", setting("delete-policy", "delete"))))
		bind(ctx, namespace, "data", "cache")
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(marks(ctx, namespace, "data")).To(ConsistOf(operatorName + "/released-by"))
		_, err := get(ctx, "v1", "PersistentVolumeClaim", namespace, "cache")
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})

	It("a PersistentVolumeClaim that is pruned is orphaned, and adopted when it is rendered again", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		both := together(claimManifest("data"), configMap("settings", "a"))
		g := newGadget(ctx, namespace, "app", both)
		bind(ctx, namespace, "data")
		expectReady(ctx, g)
		changeManifests(ctx, g, configMap("settings", "a"))
		expectReady(ctx, g)
		Expect(marks(ctx, namespace, "data")).To(ConsistOf(operatorName + "/released-by"))
		Expect(current(ctx, g).Status.Inventory).To(HaveLen(1))
		changeManifests(ctx, g, both)
		expectReady(ctx, g)
		Expect(marks(ctx, namespace, "data")).To(And(ContainElement(operatorName+"/owner-id"),
			Not(ContainElement(operatorName+"/released-by"))))
	})

	It("after the loss of the inventory, the delete policy in the manifest of a PersistentVolumeClaim still "+
		"takes effect", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{})
		g := newGadget(ctx, namespace, "app", together(claimManifest("data"),
			claimManifest("cache", operator+"/delete-policy: delete")), servedBy(operator))
		bind(ctx, namespace, "data", "cache")
		expectReady(ctx, g)
		stop()
		emptied := current(ctx, g)
		emptied.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, emptied)).To(Succeed())
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "PersistentVolumeClaim", namespace, "data").GetDeletionTimestamp()).To(BeNil())
		_, err := get(ctx, "v1", "PersistentVolumeClaim", namespace, "cache")
		Expect(err).To(MatchError(ContainSubstring("not found")))
	})
})
