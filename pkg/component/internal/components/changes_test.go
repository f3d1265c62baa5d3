package components

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestDamagedRecords(t *testing.T) {
	lines := []string{"/v1/ConfigMap/shop/a", "/v1/ConfigMap/shop/b"}
	digest := InventoryDigest(lines)
	named := &metav1alpha1.InventoryRecord{Namespace: "shop", Name: "inventory-a-b", Parts: 1}
	none := &metav1alpha1.InventoryRecord{}
	for _, c := range []struct {
		name   string
		status metav1alpha1.Status
		want   bool
	}{
		{"not if there is no inventory", metav1alpha1.Status{}, false},
		{"not if the lines match the digest", metav1alpha1.Status{Inventory: lines, InventoryDigest: digest}, false},
		{
			"not after the inventory moved back from Secrets",
			metav1alpha1.Status{Inventory: lines, InventoryDigest: digest, InventoryRecord: none},
			false,
		},
		{"not if the inventory is in Secrets", metav1alpha1.Status{InventoryDigest: digest, InventoryRecord: named}, false},
		{"if a line was removed", metav1alpha1.Status{Inventory: lines[1:], InventoryDigest: digest}, true},
		{
			"if lines changed places",
			metav1alpha1.Status{Inventory: []string{lines[1], lines[0]}, InventoryDigest: digest},
			true,
		},
		{"if the digest was removed", metav1alpha1.Status{Inventory: lines}, true},
		{"if the name of the Secrets was removed", metav1alpha1.Status{InventoryDigest: digest}, true},
		{
			"if lines were added beside Secrets",
			metav1alpha1.Status{Inventory: lines, InventoryDigest: digest, InventoryRecord: named},
			true,
		},
		{"if the digest of the Secrets was removed", metav1alpha1.Status{InventoryRecord: named}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Damaged(newGadget(func(g *gadget) { g.Status.Status = c.status }),
				FinalizersOf(reconciler)); got != c.want {
				t.Errorf("Damaged returned %t for this status", got)
			}
		})
	}
	held := newGadget(func(g *gadget) { g.Finalizers = []string{Finalizer(reconciler)} })
	if !Damaged(held, FinalizersOf(reconciler)) {
		t.Error("an empty status of a component with the finalizer is not reported as damaged")
	}
	if Damaged(&metav1.PartialObjectMetadata{}, FinalizersOf(reconciler)) {
		t.Error("an object without a status is reported as damaged")
	}
}

func TestChangesThatNeedAPass(t *testing.T) {
	own := Finalizer(reconciler)
	held := func(g *gadget) { g.Finalizers, g.Status.Reconciler = []string{own}, reconciler }
	for _, c := range []struct {
		name   string
		change func(*gadget)
		want   bool
	}{
		{"not a new status", func(g *gadget) { g.ResourceVersion, g.Status.Revision = "2", 2 }, false},
		{"a new spec", func(g *gadget) { g.Generation = 2 }, true},
		{"a deletion", func(g *gadget) { g.DeletionTimestamp = new(metav1.Now()) }, true},
		{"another component of the same name", func(g *gadget) { g.UID = "u2" }, true},
		{"a finalizer of another controller", func(g *gadget) { g.Finalizers = []string{own, "other"} }, true},
		{"the loss of the finalizer", func(g *gadget) { g.Finalizers = nil }, true},
		{"a damaged record", func(g *gadget) { g.Status.Inventory = []string{"forged"} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := newGadget(held), newGadget(held)
			c.change(after)
			if got := NeedsPass(before, after, FinalizersOf(reconciler)); got != c.want {
				t.Errorf("NeedsPass returned %t for this change", got)
			}
		})
	}
	damaged := func(ready metav1.ConditionStatus) *gadget {
		return newGadget(held, func(g *gadget) {
			g.Status.Inventory = []string{"forged"}
			g.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: ready}}
		})
	}
	if !NeedsPass(damaged(metav1.ConditionFalse), damaged(metav1.ConditionTrue), FinalizersOf(reconciler)) {
		t.Error("a status with a damaged record, of which another client says that it is ready, starts no pass")
	}
	if NeedsPass(damaged(metav1.ConditionTrue), damaged(metav1.ConditionFalse), FinalizersOf(reconciler)) {
		t.Error("the report that a damaged record is not used starts a pass")
	}
	if NeedsPass(newGadget(), newGadget(held), FinalizersOf(reconciler)) {
		t.Error("a change of the reconciler's own finalizer starts a pass")
	}
}
