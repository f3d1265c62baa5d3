package components

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// withInventory returns a component with lines of about 150 bytes.
func withInventory(t testing.TB, uid string, lines int) *gadget {
	t.Helper()
	p := &gadget{}
	p.UID, p.Name = types.UID(uid), uid
	for i := range lines {
		p.Status.Inventory = append(p.Status.Inventory, fmt.Sprintf(
			"apps/Deployment shop/%s-%06d v=v1 u=0e7f1a0c-6f0e-4a1b-9c53-%012d h=0123456789abcdef0123456789abcdef o=1 d=delete "+
				"p=if-unowned a=replace",
			uid, i, i))
	}
	p.Status.InventoryDigest = InventoryDigest(p.Status.Inventory)
	return p
}

func TestIdleInventoriesAreDroppedOneAfterTheOtherAndFilledWhileTheyAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const components = 100
		idle := NewIdleInventories(time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		sweepsOfOthers := 0
		go idle.Run(ctx, func(time.Duration, time.Time) { sweepsOfOthers++ })
		var cached []*gadget
		for i := range components {
			p := withInventory(t, fmt.Sprint("c", i), minDropped)
			want := slices.Clone(p.Status.Inventory)
			if _, err := idle.Transform(p); err != nil || !isDropped(p.GetStatus()) || Damaged(p, Finalizers{Own: "f"}) {
				t.Fatalf("the inventory is still in the cache, or counts as damaged: %v", p.Status.Inventory)
			}
			copied, err := copyOf(p)
			if err != nil || !idle.fill(copied) || !slices.Equal(copied.GetStatus().Inventory, want) {
				t.Fatalf("filled with %v, %v", copied.GetStatus().Inventory, err)
			}
			cached = append(cached, p)
		}
		time.Sleep(50 * time.Minute)
		used, err := copyOf(cached[0])
		if err != nil || !idle.fill(used) {
			t.Error("an inventory was dropped before the idle time")
		}
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		if kept := len(idle.kept); kept < components/4 || kept > 3*components/4 {
			t.Errorf("%d inventories are kept after one and a half idle times, want about half", kept)
		}
		used, err = copyOf(cached[0])
		if err != nil || !idle.fill(used) {
			t.Error("the inventory of a component in use was dropped")
		}
		time.Sleep(40 * time.Minute)
		synctest.Wait()
		if len(idle.kept) != 1 {
			t.Errorf("%d inventories are kept, want that of the component in use", len(idle.kept))
		}
		if sweepsOfOthers != 8*130/60 {
			t.Errorf("the inventories that are kept elsewhere were dropped %d times", sweepsOfOthers)
		}
		if idle.fill(cached[1]) {
			t.Error("a dropped inventory was filled")
		}
	})
}

func TestInventoriesStayInTheCacheThatAreSmallOrDamaged(t *testing.T) {
	idle := NewIdleInventories(time.Hour)
	small, damaged := withInventory(t, "small", minDropped-1), withInventory(t, "damaged", minDropped)
	damaged.Status.Inventory[3] = "edited"
	for _, p := range []*gadget{small, damaged} {
		lines := len(p.Status.Inventory)
		if _, err := idle.Transform(p); err != nil || len(p.Status.Inventory) != lines {
			t.Errorf("%s: %d lines are left, %v", p.Name, len(p.Status.Inventory), err)
		}
	}
	if !Damaged(damaged, Finalizers{Own: "f"}) {
		t.Error("the damage is not seen")
	}
	var none *IdleInventories
	if !none.fill(small) {
		t.Error("a component in a cache without IdleInventories lacks its inventory")
	}
}
