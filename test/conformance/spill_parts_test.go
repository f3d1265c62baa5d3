package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// halves is a number of Roles whose inventory fills two Secrets. The names of Roles may be long, and random names
// cannot be compressed.
const halves, lengthOfNames = 90, 8000

// purged is a ConfigMap that is created and purged. After that, only the record contains it.
const purged = "purged"

// roles renders a ConfigMap that is purged at once, and Roles. The manifests have the form "number value".
func roles(operator string) generator.Generator {
	return generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		var number int
		var value string
		text, _ := req.Parameters["manifests"].(string)
		if _, err := fmt.Sscan(text, &number, &value); err != nil {
			return nil, err
		}
		objects := []client.Object{&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": purged, "annotations": map[string]any{operator + "/purge-order": "0"}},
		}}}
		for i := range number {
			objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
				"metadata": map[string]any{"name": longName(i), "annotations": map[string]any{"example.com/value": value}},
			}})
		}
		return objects, nil
	})
}

// longName returns a long random name that depends only on number. No other kind allows names of this length.
func longName(number int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	random := rand.New(rand.NewPCG(uint64(number), 0))
	name := make([]byte, lengthOfNames)
	for i := range name {
		name[i] = letters[random.IntN(len(letters))]
	}
	return string(name)
}

// ownedRoles returns the UIDs of an operator's Roles by name, and an empty UID for the purged ConfigMap.
func ownedRoles(ctx context.Context, operator, namespace string) map[string]string {
	GinkgoHelper()
	list := &rbacv1.RoleList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.HasLabels{operator + "/owner-id"})).To(Succeed())
	found := map[string]string{purged: ""}
	for _, r := range list.Items {
		found[r.Name] = string(r.UID)
	}
	return found
}

func namesOf(secrets []corev1.Secret) []string {
	var names []string
	for i := range secrets {
		names = append(names, secrets[i].Name)
	}
	return names
}

// sizes returns the sizes of objects as JSON.
func sizes[T any](objects []T) []int {
	GinkgoHelper()
	var found []int
	for _, o := range objects {
		content, err := json.Marshal(o)
		Expect(err).NotTo(HaveOccurred())
		found = append(found, len(content))
	}
	return found
}

var _ = Describe("Inventories in several Secrets:", slow, func() {
	var namespace, operator string
	var options operatorOptions
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		options = operatorOptions{generate: roles(operator)}
	})
	rendering := func(number int, value string) string { return fmt.Sprintf("%d %s", number, value) }
	install := func(ctx context.Context, number int) *gadget.Gadget {
		GinkgoHelper()
		return newGadget(ctx, namespace, "app", rendering(number, "a"), servedBy(operator))
	}
	// expectParts waits until a gadget is ready, and its record is complete and has the given number of Secrets.
	expectParts := func(ctx context.Context, g *gadget.Gadget, parts int) {
		GinkgoHelper()
		expectReady(ctx, g)
		settle(ctx, operator)
		Expect(current(ctx, g).Status.InventoryRecord.Parts).To(BeEquivalentTo(parts))
		Eventually(ctx, func() []string { return namesOf(inventories(ctx, namespace)) }).Should(HaveLen(parts),
			"the Secrets of the previous inventory were not deleted")
		Expect(sizes(inventories(ctx, namespace))).To(HaveEach(BeNumerically("<=", 512<<10)))
		Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedRoles(ctx, operator, namespace)))
	}
	// settled creates a component with two Secrets, and stops its operator.
	settled := func(ctx context.Context) *gadget.Gadget {
		GinkgoHelper()
		stop := runOperator(operator, options)
		g := install(ctx, halves)
		expectParts(ctx, g, 2)
		stop()
		return g
	}

	It("an inventory in several Secrets is read part by part after a restart, grows by parts, and is deleted with "+
		"its component", func(ctx SpecContext) {
		g := settled(ctx)
		mark, before := markAudit(ctx), passes(operator)
		runOperator(operator, options)
		Eventually(ctx, func() int { return passes(operator) }).Should(BeNumerically(">", before))
		settle(ctx, operator)
		Expect(verbs(inNamespace(requestsSince(ctx, mark, operator), namespace))).
			To(Equal([]string{"get secrets 200", "get secrets 200"}))
		changeManifests(ctx, g, rendering(halves+halves/2, "a"))
		expectParts(ctx, g, 3)
		changeManifests(ctx, g, rendering(halves/2, "a"))
		expectParts(ctx, g, 1)
		remove(ctx, g)
		expectNotFound(ctx, g)
		Expect(inventories(ctx, namespace)).To(BeEmpty())
		Expect(ownedRoles(ctx, operator, namespace)).To(HaveLen(1))
	})

	// An apply makes two writes to Secrets before the dependents (two parts), two after them, and two for each part of a
	// previous record.
	for after, where := range map[int64]string{
		1: "between the parts of the first record", 3: "between the parts of the second record",
		5: "before a part of a previous record is deleted", 6: "between the parts of a previous record",
	} {
		It("an inventory in several Secrets loses no entry by a crash "+where, func(ctx SpecContext) {
			g := install(ctx, halves)
			runUntilCrash(ctx, operator, options, &crash{counts: writesTo(namespace, "secrets"), after: after, unanswered: true})
			runOperator(operator, options)
			expectReady(ctx, g)
			settle(ctx, operator)
			Expect(inventoryOfGadget(ctx, g)).To(Equal(ownedRoles(ctx, operator, namespace)))
			changeManifests(ctx, g, rendering(halves, "b"))
			expectParts(ctx, g, 2)
			remove(ctx, g)
			expectNotFound(ctx, g)
			Expect(inventories(ctx, namespace)).To(BeEmpty())
			Expect(ownedRoles(ctx, operator, namespace)).To(HaveLen(1))
		})
	}

	It("if the operator crashes between the writes of two Secrets of an inventory, and the status is emptied, the "+
		"inventory is rebuilt from the previous Secrets", func(ctx SpecContext) {
		g := settled(ctx)
		previous := current(ctx, g).Status.InventoryRecord.Name
		changeManifests(ctx, g, rendering(halves+1, "a"))
		runUntilCrash(ctx, operator, options, &crash{counts: writesTo(namespace, "secrets"), after: 1, unanswered: true})
		Expect(namesOf(inventories(ctx, namespace))).To(And(HaveLen(3), ContainElements(previous+"-0", previous+"-1")))
		g = current(ctx, g)
		g.Status = gadget.GadgetStatus{}
		Expect(k8s.Status().Update(ctx, g)).To(Succeed())

		mark := markAudit(ctx)
		runOperator(operator, options)
		expectParts(ctx, g, 2)
		created := inNamespace(requestsSince(ctx, mark, operator), namespace).Writes().Code(201)
		Expect(created.Resource("roles")).To(HaveLen(1))
		Expect(created.Resource("configmaps")).To(BeEmpty(),
			"the purged ConfigMap is known from the record and must not be created again")
	})

	for part := range 2 {
		It(fmt.Sprintf("an inventory in several Secrets is rebuilt from labels if part %d was deleted, and no "+
			"dependent changes", part), func(ctx SpecContext) {
			g := settled(ctx)
			before := ownedRoles(ctx, operator, namespace)
			secret := inventories(ctx, namespace)[part]
			letGo(ctx, &secret)
			remove(ctx, &secret)
			runOperator(operator, options)
			Eventually(ctx, func() error {
				_, err := tree.Inventory(ctx, k8s, current(ctx, g).GetStatus())
				return err
			}).Should(Succeed())
			expectParts(ctx, g, 2)
			Expect(ownedRoles(ctx, operator, namespace)).To(Equal(before))
			changeManifests(ctx, g, rendering(1, "a"))
			expectReady(ctx, g)
			Expect(ownedRoles(ctx, operator, namespace)).To(HaveLen(2))
		})
	}
})
