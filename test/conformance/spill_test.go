package conformance_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// spilling are the options of operators whose statuses hold few dependents: about a dozen. An inventory moves back into
// the status when it needs half of that.
var spilling = component.Options{Limits: component.Limits{StatusInventory: 1800}}

// errLostAnswer is the error of a request whose connection broke before the response.
var errLostAnswer = errors.New("the connection broke")

// many dependents are recorded in Secrets. few dependents are recorded in the status.
const many, few = 24, 4

// inventories returns the Secrets with inventories in a namespace.
func inventories(ctx context.Context, namespace string) []corev1.Secret {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !strings.HasPrefix(s.Name, "inventory-") })
}

// inventoryOfGadget reads the inventory of a gadget from the status or from Secrets. It returns the UIDs by name.
func inventoryOfGadget(ctx context.Context, g *gadget.Gadget) map[string]string {
	GinkgoHelper()
	entries, err := tree.Inventory(ctx, k8s, current(ctx, g).GetStatus())
	Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, e := range entries {
		found[e.Name] = string(e.UID)
	}
	return found
}

// ownedConfigMaps returns the UIDs of an operator's ConfigMaps by name.
func ownedConfigMaps(ctx context.Context, operator, namespace string) map[string]string {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.HasLabels{operator + "/owner-id"})).To(Succeed())
	found := map[string]string{}
	for _, c := range list.Items {
		found[c.Name] = string(c.UID)
	}
	return found
}

// expectSpilled waits until a gadget is ready, and its inventory is complete in the Secrets that its status names, and
// in no other Secret.
func expectSpilled(ctx context.Context, g *gadget.Gadget, operator string) {
	GinkgoHelper()
	expectReady(ctx, g)
	settle(ctx, operator)
	var status *metav1alpha1.Status
	Eventually(ctx, func() *metav1alpha1.Status {
		status = current(ctx, g).GetStatus()
		return status
	}).Should(And(HaveField("Inventory", BeEmpty()), HaveField("HasInventoryRecord()", BeTrue())))
	Eventually(ctx, func() []corev1.Secret { return inventories(ctx, g.Namespace) }).Should(And(
		HaveLen(int(status.InventoryRecord.Parts)),
		HaveEach(HaveField("Name", HavePrefix(status.InventoryRecord.Name)))))
	Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedConfigMaps(ctx, operator, g.Namespace)))
}

// expectHeld waits until a gadget is ready, and its status contains the whole inventory.
func expectHeld(ctx context.Context, g *gadget.Gadget, operator string) {
	GinkgoHelper()
	expectReady(ctx, g)
	settle(ctx, operator)
	Eventually(ctx, func() *metav1alpha1.Status { return current(ctx, g).GetStatus() }).
		Should(And(HaveField("Inventory", HaveLen(few)), HaveField("HasInventoryRecord()", BeFalse())))
	Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedConfigMaps(ctx, operator, g.Namespace)))
	Eventually(ctx, func() []corev1.Secret { return inventories(ctx, g.Namespace) }).Should(BeEmpty())
}

var _ = Describe("Large inventories:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })
	run := func(wrap func(http.RoundTripper) http.RoundTripper) (stop func()) {
		return runOperator(operator, operatorOptions{component: spilling, transport: wrap})
	}
	install := func(ctx context.Context, n int) *gadget.Gadget {
		GinkgoHelper()
		return newGadget(ctx, namespace, "app", configMaps("cm", n, "a"), servedBy(operator))
	}

	It("a large inventory is written to Secrets before the first dependent is created, and the apply of n dependents "+
		"needs at most n and four other requests", func(ctx SpecContext) {
		run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		told := story(ctx, 0, operator, namespace)
		Expect(told[0]).To(HavePrefix("patch secrets/inventory-"))
		requests := inNamespace(requestsSince(ctx, 0, operator), namespace)
		Expect(len(requests)-len(requests.Resource("secrets"))).To(BeNumerically("<=", many+4), "%v", verbs(requests))
		Expect(inventories(ctx, namespace)[0].Finalizers).To(Equal([]string{operator + "/finalizer"}))
	})

	It("an inventory that becomes too large for the status moves into Secrets, and moves back into the status when it "+
		"needs at most half of the space there", func(ctx SpecContext) {
		run(nil)
		g := install(ctx, few)
		expectHeld(ctx, g, operator)
		changeManifests(ctx, g, configMaps("cm", many, "a"))
		expectSpilled(ctx, g, operator)
		changeManifests(ctx, g, configMaps("cm", 9, "a"))
		expectSpilled(ctx, g, operator)
		changeManifests(ctx, g, configMaps("cm", few, "a"))
		expectHeld(ctx, g, operator)
		changeManifests(ctx, g, configMaps("cm", many, "a"))
		expectSpilled(ctx, g, operator)
	})

	It("a large inventory is written once for each change of the dependents, is not read, and is not written "+
		"without a change", func(ctx SpecContext) {
		run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		mark := markAudit(ctx)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(BeEmpty())
		mark = markAudit(ctx)
		changeManifests(ctx, g, strings.Replace(configMaps("cm", many, "a"), `"a"`, `"b"`, 1))
		expectSpilled(ctx, g, operator)
		told := verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))
		Expect(told).To(HaveLen(5), "the finalizer of a Secret is removed before the Secret is deleted: %v", told)
		Expect(told).To(ContainElements("patch configmaps 200", "patch secrets 201", "update gadgets/status 200",
			"delete secrets 200"))
	})

	It("after a restart the operator reads a large inventory once, and writes nothing", func(ctx SpecContext) {
		stop := run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		stop()
		mark, before := markAudit(ctx), passes(operator)
		run(nil)
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		requestPass(ctx, g, operator)
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).To(Equal([]string{"get secrets 200"}))
	})

	It("no Secret of a previous inventory stays if the response to the write of the "+
		"status is lost", func(ctx SpecContext) {
		// The last write of a pass that changes a dependent names the record with the dependent's new digest.
		var lost atomic.Int64
		writes := writesTo(namespace, "gadgets")
		run(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				if err == nil && writes(r) && lost.Add(-1) == 0 {
					_ = answer.Body.Close()
					return nil, errLostAnswer
				}
				return answer, err
			})
		})
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		By("waiting until the garbage collection of records has read the Secret, which it does once, a second " +
			"after the write")
		mark := markAudit(ctx)
		Consistently(ctx, func() int { return len(requestsSince(ctx, mark, operator)) }).WithTimeout(3 * time.Second).
			Should(BeZero())
		lost.Store(1)
		changeManifests(ctx, g, strings.Replace(configMaps("cm", many, "a"), `"a"`, `"b"`, 1))
		Eventually(ctx, lost.Load).Should(BeNumerically("<=", 0))
		Eventually(ctx, func(o Gomega, ctx context.Context) {
			status := current(ctx, g).Status
			o.Expect(status.ObservedGeneration).To(Equal(current(ctx, g).Generation))
			o.Expect(inventories(ctx, namespace)).
				To(HaveExactElements(HaveField("Name", HavePrefix(status.InventoryRecord.Name))))
		}).Should(Succeed())
	})

	It("a deletion deletes the dependents in a large inventory, and then its Secrets", func(ctx SpecContext) {
		stop := run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		stop()
		remove(ctx, g)
		mark := markAudit(ctx)
		run(nil)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(inventories(ctx, namespace)).To(BeEmpty())
		requests := inNamespace(requestsSince(ctx, mark, operator), namespace)
		Expect(len(requests)-len(requests.Resource("secrets"))).To(BeNumerically("<=", many+4), "%v", verbs(requests))
	})

	It("the Secrets of a large inventory are retained until the dependents no longer exist, also if the namespace of the "+
		"Secrets is being deleted", func(ctx SpecContext) {
		run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		held := mustGet(ctx, "v1", "ConfigMap", namespace, "cm-3")
		hold(ctx, held)
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		expectCondition(ctx, g, metav1alpha1.ConditionReady, ContainSubstring("cm-3"))
		Expect(inventoryOfGadget(ctx, g)).To(HaveKey("cm-3"))
		letGo(ctx, held)
		expectNotFound(ctx, g)
		expectNotFound(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
	})

	It("no finalizer stays on the Secrets of a large inventory if the component's "+
		"finalizer is removed", func(ctx SpecContext) {
		run(nil)
		g := install(ctx, many)
		expectSpilled(ctx, g, operator)
		change(ctx, g, func(g *gadget.Gadget) { g.Finalizers = append(g.Finalizers, "example.com/hold") })
		remove(ctx, g)
		letGo(ctx, g)
		expectNotFound(ctx, g)
		Eventually(ctx, func() []corev1.Secret { return inventories(ctx, namespace) }).Should(BeEmpty())
	})

	It("a component whose large inventory cannot be written to Secrets is stalled before anything is applied, and the "+
		"message contains the remedy", func(ctx SpecContext) {
		run(func(next http.RoundTripper) http.RoundTripper { return forbiddenRecords{next} })
		g := install(ctx, many)
		expectCondition(ctx, g, metav1alpha1.ConditionStalled,
			And(HavePrefix("True Forbidden"), ContainSubstring("Secrets in the namespace "+namespace)))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		changeManifests(ctx, g, configMaps("cm", few, "a"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
	})
})

// forbiddenRecords is a transport that forbids all requests for Secrets of inventories.
type forbiddenRecords struct{ next http.RoundTripper }

func (f forbiddenRecords) RoundTrip(request *http.Request) (*http.Response, error) {
	refused := &refusal{method: http.MethodPatch, path: strings.TrimPrefix(request.URL.Path, "/api/v1")}
	refused.on.Store(strings.Contains(request.URL.Path, "/secrets/inventory-"))
	return refused.wrap(f.next).RoundTrip(request)
}

var _ = Describe("Large inventories in a namespace that is being deleted:", slow, func() {
	// lose creates a component whose inventory is too large for a status and whose dependents are in another namespace.
	// While no operator runs, it deletes the Secrets of the inventory and the namespace.
	lose := func(ctx context.Context, operator, other string, texts ...string) *gadget.Gadget {
		GinkgoHelper()
		namespace := newNamespace(ctx)
		stop := runOperator(operator, operatorOptions{component: spilling})
		for text := range strings.SplitSeq(strings.TrimPrefix(configMaps(strings.Repeat("n", 230), 1600, "a"), "---\n"),
			"---\n") {
			texts = append(texts, within(other, text))
		}
		g := newGadget(ctx, namespace, "app", together(texts...), servedBy(operator))
		Eventually(ctx, func() string { return condition(current(ctx, g), metav1alpha1.ConditionReady) }).
			WithTimeout(2 * time.Minute).Should(HavePrefix("True"))
		settle(ctx, operator)
		stop()
		for _, secret := range inventories(ctx, namespace) {
			letGo(ctx, &secret)
			remove(ctx, &secret)
		}
		Expect(inventories(ctx, namespace)).To(BeEmpty())
		remove(ctx, mustGet(ctx, "v1", "Namespace", "", namespace))
		Eventually(ctx, func() bool { return current(ctx, g).DeletionTimestamp.IsZero() }).Should(BeFalse())
		return g
	}

	It("the loss of a large inventory in a namespace that is being deleted does not block the deletion, also if the "+
		"operator is restarted meanwhile", func(ctx SpecContext) {
		operator, other := newOperatorName(), newNamespace(ctx)
		g := lose(ctx, operator, other)
		cut := &crash{counts: writesTo(other, "configmaps"), after: 20}
		stop := runOperator(operator, operatorOptions{component: spilling, transport: cut.wrap})
		Eventually(ctx, cut.crashed.Load).Should(BeTrue())
		stop()
		Expect(countConfigMaps(ctx, other)).To(BeNumerically(">", 1500))
		runOperator(operator, operatorOptions{component: spilling})
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, other)).To(BeZero())
		expectNotFound(ctx, mustGet(ctx, "v1", "Namespace", "", g.Namespace))
	}, SpecTimeout(5*time.Minute))

	It("after the loss of a large inventory in a namespace that is being deleted, dependents are searched once, and a "+
		"Job of a deletion phase is created once", func(ctx SpecContext) {
		operator, other := newOperatorName(), newNamespace(ctx)
		g := lose(ctx, operator, other, strings.Replace(oneJob("clean", preDelete(operator)), "metadata: {",
			"metadata: {namespace: "+other+", ", 1))
		mark := markAudit(ctx)
		runOperator(operator, operatorOptions{component: spilling})
		expectNotFound(ctx, g)
		requests := auditEvents(ctx)[mark:].UserAgent(userAgent(operator))
		Expect(inNamespace(requests, other).Resource("jobs").Verb("patch").Code(201)).To(HaveLen(1),
			"the Job is created once, although its completion takes at least two passes")
		Expect(requests.Verb("list").Resource("endpoints")).To(HaveLen(1))
		Expect(countConfigMaps(ctx, other)).To(BeZero())
		Expect(records(ctx, g.Namespace)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})

var _ = Describe("Two operators of the same name with a large inventory:", func() {
	It("two operators of the same name with a large inventory write one complete record", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		runOperator(operator, operatorOptions{component: spilling})
		runOperator(operator, operatorOptions{component: spilling})
		g := newGadget(ctx, namespace, "app", configMaps("cm", many, "a"), servedBy(operator))
		for _, next := range []string{
			configMaps("cm", many+4, "b"), configMaps("cm", few, "c"),
			configMaps("cm", many, "d"),
		} {
			expectReady(ctx, g)
			changeManifests(ctx, g, next)
		}
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(inventoryOfGadget(ctx, g)).To(And(HaveLen(many), Equal(ownedConfigMaps(ctx, operator, namespace))))
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Eventually(ctx, func() []corev1.Secret { return inventories(ctx, namespace) }).Should(BeEmpty())
	})

	It("the status does not refer to the Secrets with the inventory of an operator with an "+
		"outdated state", func(ctx SpecContext) {
		namespace, operator := newNamespace(ctx), newOperatorName()
		slow := &turnstile{counts: writesTo(namespace, "gadgets/app/status"), open: make(chan struct{})}
		stop := runOperator(operator, operatorOptions{component: spilling})
		g := newGadget(ctx, namespace, "app", configMaps("cm", many, "a"), servedBy(operator))
		expectSpilled(ctx, g, operator)
		stop()
		runOperator(operator, operatorOptions{component: spilling, transport: slow.wrap})
		changeManifests(ctx, g, configMaps("cm", many+4, "b"))
		Eventually(ctx, slow.waiting.Load).Should(BeEquivalentTo(1),
			"the record of the late operator is written, and the status does not name it yet")
		runOperator(operator, operatorOptions{component: spilling})
		expectReady(ctx, g)
		named := current(ctx, g).Status.InventoryRecord.Name
		close(slow.open)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.InventoryRecord.Name).To(Equal(named))
		expectSpilled(ctx, g, operator)
	})
})
