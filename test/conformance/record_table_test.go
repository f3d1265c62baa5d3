package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/test/gadget"
)

// recordFields are the fields of a status that are the record of the dependents.
var recordFields = []string{
	"inventory", "inventoryRecord", "inventoryDigest", "inventoryWrites", "recordDigest", "phaseRecord", "renderedSet",
	"inputDigest", "managedTypes",
}

// manyTime is the time that an operator has for the work on all gadgets of a table. After a start it rebuilds about 90
// inventories in any order, and lists all types for each of them.
const manyTime = 5 * time.Minute

// edited is a gadget whose record is edited.
type edited struct {
	*gadget.Gadget
	older    gadget.GadgetStatus
	password any
}

// damage replaces fields of the status of a gadget, as another client. values returns the new value of a field, nil to
// remove the field.
func (e edited) damage(ctx context.Context, fields []string, values func(field string) any) {
	GinkgoHelper()
	status := map[string]any{}
	for _, field := range fields {
		status[field] = values(field)
	}
	text, err := json.Marshal(map[string]any{"status": status})
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Status().Patch(ctx, e.Gadget, client.RawPatch(types.MergePatchType, text), client.FieldOwner(backupTool))).
		To(Succeed())
}

// fieldsOf returns the values of the fields of a status.
func fieldsOf(status gadget.GadgetStatus) map[string]any {
	GinkgoHelper()
	text, err := json.Marshal(status)
	Expect(err).NotTo(HaveOccurred())
	fields := map[string]any{}
	Expect(json.Unmarshal(text, &fields)).To(Succeed())
	return fields
}

// recordedNames returns the names of the recorded dependents of a gadget, or nothing if the record cannot be read.
func recordedNames(ctx context.Context, g *gadget.Gadget) (names []string) {
	GinkgoHelper()
	entries, err := tree.Inventory(ctx, k8s, current(ctx, g).GetStatus())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// pairs returns each element of a list alone, each pair, and all together.
func pairs(list []string) (sets [][]string) {
	for i, a := range list {
		sets = append(sets, []string{a})
		for _, b := range list[i+1:] {
			sets = append(sets, []string{a, b})
		}
	}
	return append(sets, list)
}

var _ = Describe("Edited records of dependents:", slow, func() {
	var namespace, operator string
	var options operatorOptions
	var stop func()
	BeforeEach(func(ctx SpecContext) {
		namespace, operator = newNamespace(ctx), newOperatorName()
		options = operatorOptions{generate: &chart{}}
	})

	text := func(name string, more ...string) string {
		login := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s-login}, data: {password: {{ randAlphaNum "+
			"16 | b64enc }}}}", name)
		return together(append([]string{configMap(name+"-settings", "a"), login}, more...)...)
	}
	// start creates gadgets, and changes each of them, so that each has an older status.
	start := func(ctx context.Context, names []string) (all []edited) {
		GinkgoHelper()
		stop = runOperator(operator, options)
		for _, name := range names {
			all = append(all, edited{Gadget: newGadget(ctx, namespace, name, text(name), servedBy(operator), retrySoon)})
		}
		expectAllReady(ctx, all)
		settle(ctx, operator)
		for i, e := range all {
			all[i].older = current(ctx, e.Gadget).Status
			change(ctx, e.Gadget, func(g *gadget.Gadget) {
				g.Spec.Manifests = text(e.Name, configMap(e.Name+"-newer", "a"),
					configMap(e.Name+"-before", "a", preDelete(operator)))
				g.Spec.ManagedTypes = []metav1alpha1.TypePattern{{Group: "things.example.com", Kind: "*"}}
			})
		}
		expectAllReady(ctx, all)
		for i, e := range all {
			all[i].password = content(ctx, "Secret", namespace, e.Name+"-login")["password"]
		}
		settle(ctx, operator)
		return all
	}
	// expectIntact waits until the record of a gadget is complete and the gadget is ready, and then deletes the gadget.
	expectIntact := func(ctx context.Context, e edited, why string) {
		GinkgoHelper()
		Eventually(ctx, func() []string { return recordedNames(ctx, e.Gadget) }).WithTimeout(manyTime).Should(
			ConsistOf(e.Name+"-settings", e.Name+"-login", e.Name+"-newer"), why)
		expectReady(ctx, e.Gadget)
		Expect(content(ctx, "Secret", namespace, e.Name+"-login")["password"]).To(Equal(e.password), why)
	}
	// expectEnd deletes all gadgets, and expects that nothing is left except the given number of ConfigMaps, and that
	// each deletion phase ran.
	expectEnd := func(ctx context.Context, all []edited, left int) {
		GinkgoHelper()
		mark := markAudit(ctx)
		for _, e := range all {
			remove(ctx, e.Gadget)
		}
		Eventually(ctx, func() []gadget.Gadget { return gadgetsIn(ctx, namespace) }).WithTimeout(manyTime).Should(BeEmpty())
		Expect(countConfigMaps(ctx, namespace)).To(Equal(left))
		Expect(secretsOf(ctx, namespace)).To(BeEmpty())
		done := story(ctx, mark, operator, namespace)
		for _, e := range all {
			Expect(done).To(ContainElement("patch configmaps/" + e.Name + "-before"))
		}
	}

	for _, inSecrets := range []bool{false, true} {
		for _, running := range []bool{true, false} {
			It(fmt.Sprintf("each field and each pair, removed or replaced by an older value, leaks and touches nothing "+
				"(running: %t, inventory in Secrets: %t)", running, inSecrets), func(ctx SpecContext) {
				if inSecrets {
					options.component = component.Options{Limits: component.Limits{StatusInventory: -1}}
				}
				sets := pairs(recordFields)
				var names []string
				for i := range sets {
					names = append(names, fmt.Sprintf("removed-%d", i), fmt.Sprintf("older-%d", i))
				}
				all := start(ctx, names)
				theirs := copyOfObject(ctx, mustGet(ctx, "v1", "ConfigMap", namespace, names[0]+"-newer"), "copy")
				if !running {
					stop()
				}
				for i, e := range all {
					older := fieldsOf(e.older)
					e.damage(ctx, sets[i/2], func(field string) any {
						// A status without all fields is that of a version that did not number records, and is believed.
						if i%2 == 0 && len(sets[i/2]) < len(recordFields) {
							return nil
						}
						return older[field]
					})
				}
				if !running {
					runOperator(operator, options)
				}
				for i, e := range all {
					expectIntact(ctx, e, e.Name+": "+strings.Join(sets[i/2], ", "))
				}
				expectEnd(ctx, all, 1)
				Expect(mustGet(ctx, "v1", "ConfigMap", namespace, "copy").GetUID()).To(Equal(theirs.GetUID()))
			}, SpecTimeout(10*time.Minute))
		}
	}

	for _, running := range []bool{true, false} {
		It(fmt.Sprintf("records that were swapped between two components leak and touch nothing (running: %t)",
			running), func(ctx SpecContext) {
			all := start(ctx, []string{"one", "two"})
			if !running {
				stop()
			}
			one, two := fieldsOf(current(ctx, all[0].Gadget).Status), fieldsOf(current(ctx, all[1].Gadget).Status)
			all[0].damage(ctx, recordFields, func(field string) any { return two[field] })
			all[1].damage(ctx, recordFields, func(field string) any { return one[field] })
			uids := []types.UID{
				mustGet(ctx, "v1", "ConfigMap", namespace, "one-newer").GetUID(),
				mustGet(ctx, "v1", "ConfigMap", namespace, "two-newer").GetUID(),
			}
			if !running {
				runOperator(operator, options)
			}
			for _, e := range all {
				expectIntact(ctx, e, e.Name)
			}
			settle(ctx, operator)
			Expect([]types.UID{
				mustGet(ctx, "v1", "ConfigMap", namespace, "one-newer").GetUID(),
				mustGet(ctx, "v1", "ConfigMap", namespace, "two-newer").GetUID(),
			}).To(Equal(uids))
			expectEnd(ctx, all, 0)
		})
	}

	// recordSecrets returns the Secrets with records of a gadget, by kind.
	recordSecrets := func(ctx context.Context, e edited) map[string]*corev1.Secret {
		GinkgoHelper()
		list, found := &corev1.SecretList{}, map[string]*corev1.Secret{}
		Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		owner := mustGet(ctx, "v1", "ConfigMap", namespace, e.Name+"-settings").GetLabels()[operator+"/owner-id"]
		for i, secret := range list.Items {
			if kind, rest, _ := strings.Cut(secret.Name, "-"); strings.HasPrefix(rest, owner) {
				found[kind] = &list.Items[i]
			}
		}
		return found
	}

	It("content that was swapped between the Secrets of two components is not used: nothing is leaked, and no "+
		"value changes", func(ctx SpecContext) {
		options.component = component.Options{Limits: component.Limits{StatusInventory: -1}}
		all := start(ctx, []string{"inventory-1", "inventory-2", "phases-1", "phases-2", "rendered-1", "rendered-2"})
		stop()
		for i, kind := range []string{"inventory", "phases", "rendered"} {
			one, two := recordSecrets(ctx, all[2*i]), recordSecrets(ctx, all[2*i+1])
			Expect(one).To(HaveKey(kind))
			one[kind].Data, two[kind].Data = two[kind].Data, one[kind].Data
			Expect(k8s.Update(ctx, one[kind], client.FieldOwner(backupTool))).To(Succeed())
			Expect(k8s.Update(ctx, two[kind], client.FieldOwner(backupTool))).To(Succeed())
		}
		runOperator(operator, options)
		Eventually(ctx, func() []string { return notesOf(ctx, namespace, "RenderedSetLost") }).
			Should(And(HaveLen(2), HaveEach(ContainSubstring("does not match its digest"))))
		settle(ctx, operator)
		for _, e := range all {
			expectIntact(ctx, e, e.Name)
			remove(ctx, e.Gadget)
		}
		for _, e := range all {
			expectNotFound(ctx, e.Gadget)
		}
		Eventually(ctx, func() []string { return lostPhases(ctx, namespace) }).
			Should(And(HaveLen(2), HaveEach(ContainSubstring("does not match its digest"))))
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(secretsOf(ctx, namespace)).To(BeEmpty())
	})

	It("older Secrets with records that are created again, with an older status, leak nothing and "+
		"change no value", func(ctx SpecContext) {
		options.component = component.Options{Limits: component.Limits{StatusInventory: -1}}
		all := start(ctx, []string{"app"})
		older := recordSecrets(ctx, all[0])
		status := current(ctx, all[0].Gadget).Status
		change(ctx, all[0].Gadget, func(g *gadget.Gadget) { g.Spec.Manifests += "\n---\n" + configMap("app-newest", "a") })
		Eventually(ctx, func() []string { return recordedNames(ctx, all[0].Gadget) }).Should(ContainElement("app-newest"))
		expectReady(ctx, all[0].Gadget)
		settle(ctx, operator)
		password := content(ctx, "Secret", namespace, "app-login")["password"]
		stop()
		for kind, now := range recordSecrets(ctx, all[0]) {
			if restored := older[kind]; restored.Name != now.Name {
				restored.UID, restored.ResourceVersion, restored.ManagedFields = "", "", nil
				Expect(k8s.Create(ctx, restored, client.FieldOwner(backupTool))).To(Succeed())
			}
		}
		writeBack(ctx, all[0].Gadget, status)
		runOperator(operator, options)
		Eventually(ctx, func() []string { return recordedNames(ctx, all[0].Gadget) }).Should(ContainElement("app-newest"))
		expectReady(ctx, all[0].Gadget)
		settle(ctx, operator)
		Expect(content(ctx, "Secret", namespace, "app-login")["password"]).To(Equal(password))
		expectEnd(ctx, all, 0)
	})

	It("an older status that is written back before the deletion leaks nothing, and the "+
		"deletion phases run", func(ctx SpecContext) {
		all := start(ctx, []string{"app"})
		stop()
		writeBack(ctx, all[0].Gadget, all[0].older)
		mark := markAudit(ctx)
		remove(ctx, all[0].Gadget)
		runOperator(operator, options)
		expectNotFound(ctx, all[0].Gadget)
		Expect(countConfigMaps(ctx, namespace)).To(BeZero())
		Expect(secretsOf(ctx, namespace)).To(BeEmpty())
		Expect(story(ctx, mark, operator, namespace)).To(ContainElement("patch configmaps/app-before"))
	})
})

// gadgetsIn returns the gadgets in a namespace.
func gadgetsIn(ctx context.Context, namespace string) []gadget.Gadget {
	GinkgoHelper()
	list := &gadget.GadgetList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// expectAllReady waits until all gadgets are ready in their current generation.
func expectAllReady(ctx context.Context, all []edited) {
	GinkgoHelper()
	Eventually(ctx, func() (waiting []string) {
		for _, g := range gadgetsIn(ctx, all[0].Namespace) {
			if !strings.HasPrefix(condition(&g, metav1alpha1.ConditionReady), "True Ready") {
				waiting = append(waiting, g.Name)
			}
		}
		return waiting
	}).WithTimeout(manyTime).Should(BeEmpty())
}

// secretsOf returns the names of the Secrets in a namespace, sorted.
func secretsOf(ctx context.Context, namespace string) (names []string) {
	GinkgoHelper()
	list := &corev1.SecretList{}
	Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	slices.Sort(names)
	return names
}
