package conformance_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// backupTool is the field manager of a client that writes statuses back.
const backupTool = "backup-tool"

// writeBack replaces the status of a gadget, as a backup tool does.
func writeBack(ctx context.Context, g *gadget.Gadget, status gadget.GadgetStatus) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		restored := current(ctx, g)
		restored.Status = gadget.GadgetStatus{Status: *status.DeepCopy(), Port: status.Port}
		return k8s.Status().Update(ctx, restored, client.FieldOwner(backupTool))
	}).Should(Succeed())
}

// copyOfObject creates a copy of an object under another name, with all labels and annotations, as another client.
func copyOfObject(ctx context.Context, o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	GinkgoHelper()
	copied := o.DeepCopy()
	copied.SetName(name)
	copied.SetUID("")
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	Expect(k8s.Create(ctx, copied, client.FieldOwner(backupTool))).To(Succeed())
	return copied
}

// searches returns how often an operator searched for dependents: no operator lists this type otherwise.
func searches(ctx context.Context, mark auditMark, operator string) int {
	GinkgoHelper()
	return len(auditEvents(ctx)[mark:].UserAgent(userAgent(operator)).Resource("podtemplates").
		Where(func(e testcluster.Event) bool {
			return e.Verb == "list" && strings.Contains(e.RequestURI, "labelSelector") && !strings.Contains(e.RequestURI,
				"/namespaces/")
		}))
}

var _ = Describe("Records of dependents that another client changed:", func() {
	var namespace, operator string
	BeforeEach(func(ctx SpecContext) { namespace, operator = newNamespace(ctx), newOperatorName() })

	// start creates a gadget, and adds a ConfigMap later. It returns the status before.
	start := func(ctx context.Context) (g *gadget.Gadget, older gadget.GadgetStatus) {
		GinkgoHelper()
		g = newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)
		older = current(ctx, g).Status
		changeManifests(ctx, g, together(configMap("settings", "a"), configMap("newer", "a")))
		expectReady(ctx, g)
		settle(ctx, operator)
		return g, older
	}
	// expectRecorded waits until the record contains both ConfigMaps and the gadget is ready.
	expectRecorded := func(ctx context.Context, g *gadget.Gadget) {
		GinkgoHelper()
		Eventually(ctx, func() []string { return recordedNames(ctx, g) }).Should(ConsistOf("settings", "newer"))
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RecordChanged") }).Should(ConsistOf(And(
			ContainSubstring(fmt.Sprintf("%q wrote it", backupTool)),
			ContainSubstring("added again (1): ConfigMap "+namespace+"/newer"))))
		expectReady(ctx, g)
	}

	for name, options := range map[string]func() component.Options{
		"": func() component.Options { return component.Options{} },
		", with a cache without managed fields": func() component.Options {
			return component.Options{Limits: component.Limits{IdleInventory: component.NewIdleInventory(0)}}
		},
	} {
		It("an older status that is written back while the operator runs loses no dependent"+name, func(ctx SpecContext) {
			runOperator(operator, operatorOptions{component: options()})
			g, older := start(ctx)
			writeBack(ctx, g, older)
			expectRecorded(ctx, g)
			changeManifests(ctx, g, configMap("settings", "b"))
			expectReady(ctx, g)
			Expect(configMapExists(ctx, namespace, "newer")).To(BeFalse())
		})

		It("an older status that is written back while no operator runs loses no dependent, and a restart after that "+
			"sends no request"+name, func(ctx SpecContext) {
			stop := runOperator(operator, operatorOptions{component: options()})
			g, older := start(ctx)
			stop()
			writeBack(ctx, g, older)
			before := passes(operator)
			stop = runOperator(operator, operatorOptions{component: options()})
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			expectRecorded(ctx, g)
			settle(ctx, operator)
			stop()
			mark, before := markAudit(ctx), passes(operator)
			runOperator(operator, operatorOptions{component: options()})
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
			settle(ctx, operator)
			Expect(verbs(requestsSince(ctx, mark, operator))).To(BeEmpty())
			Expect(searches(ctx, mark, operator)).To(BeZero())
		})
	}

	It("an older status that is written back under the operator's own field owner while it runs loses "+
		"no dependent", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g, older := start(ctx)
		Eventually(ctx, func() error {
			restored := current(ctx, g)
			restored.Status = older
			return k8s.Status().Update(ctx, restored, client.FieldOwner(operator))
		}).Should(Succeed())
		Eventually(ctx, func() []string { return recordedNames(ctx, g) }).Should(ConsistOf("settings", "newer"))
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RecordChanged") }).Should(ConsistOf(And(
			ContainSubstring("it has the number"), ContainSubstring("added again (1): ConfigMap "+namespace+"/newer"))))
		expectReady(ctx, g)
	})

	It("a component whose older status is written back before its deletion leaves no dependent, and a copy of a "+
		"dependent stays", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g, older := start(ctx)
		stop()
		copied := copyOfObject(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, "newer"), "copy")
		writeBack(ctx, g, older)
		remove(ctx, g)
		runOperator(operator, operatorOptions{})
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "copy").GetUID()).To(Equal(copied.GetUID()))
		Expect(countConfigMaps(ctx, namespace)).To(Equal(1))
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RecordChanged") }).Should(ConsistOf(
			ContainSubstring("not counted, because other clients wrote them with the owner label (1): ConfigMap " +
				namespace + "/copy")))
	})

	It("an older status that names a deleted dependent does not count an object that another client "+
		"created again", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g, _ := start(ctx)
		older, saved := current(ctx, g).Status, mustGet(ctx, "v1", "ConfigMap", namespace, "newer")
		changeManifests(ctx, g, configMap("settings", "a"))
		Eventually(ctx, func() bool { return configMapExists(ctx, namespace, "newer") }).Should(BeFalse())
		expectReady(ctx, g)
		settle(ctx, operator)
		theirs := copyOfObject(ctx, saved, "newer")
		settle(ctx, operator)
		writeBack(ctx, g, older)
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RecordChanged") }).Should(ConsistOf(
			ContainSubstring("not counted, because other clients wrote them with the owner label (1): ConfigMap " +
				namespace + "/newer")))
		Eventually(ctx, func() []string { return recordedNames(ctx, g) }).Should(ConsistOf("settings"))
		expectReady(ctx, g)
		settle(ctx, operator)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "newer").GetUID()).To(Equal(theirs.GetUID()))
	})

	It("entries for the record, the kubeconfig and the object of another component delete "+
		"none of them", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{
			component: component.Options{Limits: component.Limits{StatusInventory: -1}},
		})
		keepOwnKubeconfig(ctx, namespace)
		victim := newGadget(ctx, namespace, "victim", configMap("kept", "a"), inCluster("near"), servedBy(operator))
		expectReady(ctx, victim)
		settle(ctx, operator)
		entries := []string{metav1alpha1.InventoryEntry{
			Group: gadget.GroupVersion.Group, Version: gadget.GroupVersion.Version, Kind: "Gadget", Namespace: namespace,
			Name: "victim",
			UID:  victim.GetUID(),
		}.String()}
		var secrets []client.Object
		for _, name := range secretsOf(ctx, namespace) {
			secret := mustGet(ctx, "v1", "Secret", namespace, name)
			secrets = append(secrets, secret)
			entry := metav1alpha1.InventoryEntry{
				Version: "v1", Kind: "Secret", Namespace: namespace, Name: name,
				UID: secret.GetUID(),
			}
			entries = append(entries, entry.String())
		}
		Expect(len(secrets)).To(BeNumerically(">=", 2))
		g := newGadget(ctx, namespace, "app", configMap("settings", "a"), servedBy(operator))
		expectReady(ctx, g)
		settle(ctx, operator)

		forged := edited{Gadget: g}
		forged.damage(ctx, []string{"inventory", "inventoryRecord"}, func(field string) any {
			if field == "inventory" {
				return entries
			}
			return nil
		})
		Eventually(ctx, func() []string { return recordedNames(ctx, g) }).Should(ConsistOf("settings"))
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(current(ctx, victim).DeletionTimestamp).To(BeNil())
		for _, secret := range secrets {
			Expect(mustGet(ctx, "v1", "Secret", namespace, secret.GetName()).GetDeletionTimestamp()).To(BeNil(),
				secret.GetName())
		}
		for _, each := range []*gadget.Gadget{victim, g} {
			remove(ctx, each)
			expectNotFound(ctx, each)
		}
	})

	It("if an older status is written back again within five minutes, nothing is changed until "+
		"the next search", func(ctx SpecContext) {
		runOperator(operator, operatorOptions{})
		g, older := start(ctx)
		mark := markAudit(ctx)
		writeBack(ctx, g, older)
		expectRecorded(ctx, g)
		settle(ctx, operator)
		Expect(searches(ctx, mark, operator)).To(Equal(1))
		writeBack(ctx, g, older)
		expectCondition(ctx, g, "Ready", And(HavePrefix("False Retrying: nothing is changed until"),
			ContainSubstring(`"`+backupTool+`" wrote it`),
			ContainSubstring("kubectl get -n "+namespace+" gadget."+gadget.GroupVersion.Group+" "+g.Name+
				" -o yaml --show-managed-fields")))
		settle(ctx, operator)
		writeBack(ctx, g, older)
		expectCondition(ctx, g, "Ready", HavePrefix("False Retrying: nothing is changed until"))
		changeManifests(ctx, g, configMap("settings", "b"))
		settle(ctx, operator)
		expectCondition(ctx, g, "Ready", HavePrefix("False Retrying: nothing is changed until"))
		Expect(configMapExists(ctx, namespace, "newer")).To(BeTrue())
		Expect(content(ctx, "ConfigMap", namespace, "settings")["value"]).To(Equal("a"))
		Expect(searches(ctx, mark, operator)).To(Equal(1))
	})

	It("equal values and an author's part of the status that another client writes "+
		"cause no search", func(ctx SpecContext) {
		stop := runOperator(operator, operatorOptions{})
		g, _ := start(ctx)
		same := current(ctx, g).Status
		mark := markAudit(ctx)
		writeBack(ctx, g, same)
		same.Port = 4711
		writeBack(ctx, g, same)
		settle(ctx, operator)
		stop()
		before := passes(operator)
		runOperator(operator, operatorOptions{})
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(searches(ctx, mark, operator)).To(BeZero())
	})
})
