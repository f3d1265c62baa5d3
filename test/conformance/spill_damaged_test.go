package conformance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/test/gadget"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

var _ = Describe("Damaged inventories in Secrets:", slow, func() {
	// start creates a component, stops its operator, and returns the inventory.
	start := func(ctx context.Context) (g *gadget.Gadget, operator string, before map[string]string) {
		GinkgoHelper()
		namespace, operator := newNamespace(ctx), newOperatorName()
		stop := runOperator(operator, operatorOptions{component: spilling})
		g = newGadget(ctx, namespace, "app", configMaps("cm", many, "a"), servedBy(operator))
		expectSpilled(ctx, g, operator)
		stop()
		return g, operator, inventoryOfGadget(ctx, g)
	}
	damages := map[string]func(context.Context, *gadget.Gadget){
		"the finalizer of the Secret with the inventory was removed and the Secret was deleted": func(ctx context.Context,
			g *gadget.Gadget,
		) {
			secret := inventories(ctx, g.Namespace)[0]
			letGo(ctx, &secret)
			remove(ctx, &secret)
		},
		"the Secret with the inventory was edited": func(ctx context.Context, g *gadget.Gadget) {
			patch(ctx, &inventories(ctx, g.Namespace)[0], `{"data":{"inventory.json.gz":"cnViYmlzaA=="}}`)
		},
		"the Secret with the inventory was replaced by 60 MiB of tiny values": func(ctx context.Context, g *gadget.Gadget) {
			var bomb bytes.Buffer
			compressed := gzip.NewWriter(&bomb)
			_, err := io.WriteString(compressed, "["+strings.Repeat("{},", 20<<20)+"{}]")
			Expect(err).NotTo(HaveOccurred())
			Expect(compressed.Close()).To(Succeed())
			patch(ctx, &inventories(ctx, g.Namespace)[0], fmt.Sprintf(`{"data":{"inventory.json.gz":%q}}`,
				base64.StdEncoding.EncodeToString(bomb.Bytes())))
		},
		"the Secret with the inventory was emptied": func(ctx context.Context, g *gadget.Gadget) {
			patch(ctx, &inventories(ctx, g.Namespace)[0], `{"data":null}`)
		},
		"the id of the cluster in the status was edited": func(ctx context.Context, g *gadget.Gadget) {
			identify(ctx, g, "elsewhere/"+string(g.UID))
		},
		"the digest of the inventory in the status was edited": func(ctx context.Context, g *gadget.Gadget) {
			g = current(ctx, g)
			g.Status.InventoryDigest = "rubbish"
			Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		},
		"the name of the inventory's Secret in the status was edited": func(ctx context.Context, g *gadget.Gadget) {
			g = current(ctx, g)
			g.Status.InventoryRecord.Name += "x"
			Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		},
		"the name of the inventory's Secret in the status was removed": func(ctx context.Context, g *gadget.Gadget) {
			g = current(ctx, g)
			g.Status.InventoryRecord = nil
			Expect(k8s.Status().Update(ctx, g)).To(Succeed())
		},
		"the status was emptied": loseStatus,
	}
	for how, damage := range damages {
		It("an inventory in Secrets is rebuilt after "+how+
			", and dependents that are no longer rendered are pruned", func(ctx SpecContext) {
			g, operator, before := start(ctx)
			damage(ctx, g)
			mark, passed := markAudit(ctx), passes(operator)
			runOperator(operator, operatorOptions{component: spilling})
			Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", passed))
			settle(ctx, operator)
			expectSpilled(ctx, g, operator)
			Expect(inventoryOfGadget(ctx, g)).To(Equal(before))
			Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), g.Namespace).Writes().Resource("configmaps").
				Code(201))).To(BeEmpty())
			changeManifests(ctx, g, configMaps("cm", few, "a"))
			expectHeld(ctx, g, operator)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(inventories(ctx, g.Namespace)).To(BeEmpty())
		})

		It("an inventory in Secrets is rebuilt during a deletion after "+how, func(ctx SpecContext) {
			g, operator, _ := start(ctx)
			damage(ctx, g)
			remove(ctx, g)
			runOperator(operator, operatorOptions{component: spilling})
			expectNotFound(ctx, g)
			Expect(countConfigMaps(ctx, g.Namespace)).To(BeZero())
			Expect(inventories(ctx, g.Namespace)).To(BeEmpty())
		})
	}

	It("a dependent with the name of a record is refused", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		name := "inventory-" + strings.Repeat("0a", 20) + "-id-0"
		g := newGadget(ctx, namespace, "app", together(configMap("settings", "a"),
			"apiVersion: v1\nkind: Secret\nmetadata: {name: "+name+"}"))
		expectCondition(ctx, g, metav1alpha1.ConditionStalled, And(HavePrefix("True InvalidManifests"),
			ContainSubstring("Secret "+namespace+"/"+name+
				": the name is reserved for the records of components; rename the Secret")))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero(), "a part of the set was applied")
	})

	It("a Secret with the copied labels and annotations of a record is never deleted", func(ctx SpecContext) {
		g, operator, _ := start(ctx)
		record := mustGet(ctx, "v1", "Secret", g.Namespace, inventories(ctx, g.Namespace)[0].Name)
		theirs := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"data": record.Object["data"],
		}}
		theirs.SetNamespace(g.Namespace)
		theirs.SetName("theirs")
		theirs.SetLabels(record.GetLabels())
		theirs.SetAnnotations(record.GetAnnotations())
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		mark := markAudit(ctx)
		stop := runOperator(operator, operatorOptions{component: spilling})
		remove(ctx, g)
		expectNotFound(ctx, g)
		stop()

		By("starting another operator after the deletion of the component")
		runOperator(operator, operatorOptions{component: spilling})
		other := newGadget(ctx, g.Namespace, "other", configMap("other", "a"), servedBy(operator))
		expectReady(ctx, other)
		settle(ctx, operator)
		Expect(mustGet(ctx, "v1", "Secret", g.Namespace, "theirs").GetUID()).To(Equal(theirs.GetUID()))
		Expect(requestsSince(ctx, mark, operator).Writes().Resource("secrets").
			Where(func(e testcluster.Event) bool { return e.Name == "theirs" })).To(BeEmpty())
	})

	It("a Secret with the name, the labels and the annotations of a record that the operator did not write is "+
		"never deleted", func(ctx SpecContext) {
		g, operator, _ := start(ctx)
		record := mustGet(ctx, "v1", "Secret", g.Namespace, inventories(ctx, g.Namespace)[0].Name)
		words := strings.Split(record.GetName(), "-")
		words[len(words)-2] = "0123456789abcdef"
		theirs := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"stringData": map[string]any{"theirs": "a"},
		}}
		theirs.SetNamespace(g.Namespace)
		theirs.SetName(strings.Join(words, "-"))
		theirs.SetLabels(record.GetLabels())
		annotations := record.GetAnnotations()
		annotations[operator+"/record-after"] = "another"
		theirs.SetAnnotations(annotations)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		mark := markAudit(ctx)
		stop := runOperator(operator, operatorOptions{component: spilling})
		changeManifests(ctx, g, configMaps("cm", many, "b"))
		expectReady(ctx, g)
		remove(ctx, g)
		expectNotFound(ctx, g)
		stop()
		By("starting another operator after the deletion of the component")
		runOperator(operator, operatorOptions{component: spilling})
		other := newGadget(ctx, g.Namespace, "other", configMap("other", "a"), servedBy(operator))
		expectReady(ctx, other)
		settle(ctx, operator)
		Expect(inventories(ctx, g.Namespace)).To(ConsistOf(HaveField("UID", theirs.GetUID())))
		Expect(requestsSince(ctx, mark, operator).Writes().Resource("secrets").
			Where(func(e testcluster.Event) bool { return e.Name == theirs.GetName() })).To(BeEmpty())
	})

	It("an inventory in Secrets is rebuilt after the status was emptied, and changed "+
		"dependents are applied", func(ctx SpecContext) {
		g, operator, before := start(ctx)
		loseStatus(ctx, g)
		changeManifests(ctx, g, configMaps("cm", many, "b"))
		runOperator(operator, operatorOptions{component: spilling})
		expectSpilled(ctx, g, operator)
		Expect(inventoryOfGadget(ctx, g)).To(Equal(before))
		changed := newConfigMap(g.Namespace, "cm-0")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(changed), changed)).To(Succeed())
		Expect(changed.Data).To(HaveKeyWithValue("value", "b"))
	})

	It("a damaged inventory in Secrets is detected while the operator runs", func(ctx SpecContext) {
		g, operator, before := start(ctx)
		runOperator(operator, operatorOptions{component: spilling})
		settle(ctx, operator)
		damages["the name of the inventory's Secret in the status was edited"](ctx, g)
		Eventually(ctx, func() string { return current(ctx, g).Status.InventoryRecord.Name }).ShouldNot(HaveSuffix("x"))
		expectSpilled(ctx, g, operator)
		Expect(inventoryOfGadget(ctx, g)).To(Equal(before))
	})

	It("if another client deletes a Secret with an inventory, the operator's finalizer "+
		"retains the Secret", func(ctx SpecContext) {
		g, operator, before := start(ctx)
		remove(ctx, &inventories(ctx, g.Namespace)[0])
		runOperator(operator, operatorOptions{component: spilling})
		settle(ctx, operator)
		Expect(inventoryOfGadget(ctx, g)).To(Equal(before))
		changeManifests(ctx, g, configMaps("cm", many, "b"))
		expectSpilled(ctx, g, operator)
	})
})
