package components

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestInventoryReferences(t *testing.T) {
	g := NewWithT(t)
	record := &metav1alpha1.InventoryRecord{Namespace: "shop", Name: "inventory-a", Parts: 2}
	none := RefOf(&metav1alpha1.Status{})
	announced := RefOf(&metav1alpha1.Status{InventoryRecord: &metav1alpha1.InventoryRecord{}})
	lines := RefOf(&metav1alpha1.Status{Inventory: []string{"a"}})
	secrets := RefOf(&metav1alpha1.Status{InventoryRecord: record})

	g.Expect(none.Empty()).To(BeTrue())
	g.Expect(announced.Equal(none)).To(BeTrue())
	g.Expect(lines.Empty()).To(BeFalse())
	g.Expect(secrets.Empty()).To(BeFalse())
	g.Expect(lines.Equal(secrets)).To(BeFalse())
	g.Expect(lines.Equal(RefOf(&metav1alpha1.Status{Inventory: []string{"a"}}))).To(BeTrue())

	g.Expect(secrets.Secrets()).To(Equal(*record))
	g.Expect(secrets.Names("inventory-a-1")).To(BeTrue())
	g.Expect(secrets.Names("inventory-ab-1")).To(BeFalse())
	g.Expect(lines.Names("-1")).To(BeFalse())

	g.Expect(secrets.ID()).To(Equal("inventory-a"))
	g.Expect(lines.ID()).To(Equal("status-" + InventoryDigest([]string{"a"})))
	g.Expect(none.ID()).To(Equal("status-"))
}
