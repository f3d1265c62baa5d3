package components

import (
	"context"
	"fmt"
	"os"
	"runtime"
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
			"apps/Deployment shop/%s-%06d v=v1 u=0e7f1a0c-6f0e-4a1b-9c53-%012d h=0123456789abcdef0123456789abcdef o=1 d=delete p=if-unowned a=replace",
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
		go idle.Run(ctx)
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
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		if len(idle.kept) != 1 {
			t.Errorf("%d inventories are kept, want that of the component in use", len(idle.kept))
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

// TestMemoryOfIdleInventories measures the memory of 5,000 components with an inventory of 256 KiB. It runs with
// MEASURE=1, because it needs 2 GiB.
func TestMemoryOfIdleInventories(t *testing.T) {
	if os.Getenv("MEASURE") == "" {
		t.Skip("set MEASURE=1")
	}
	const components, lines = 5000, 1815
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before := heap()
	idle := NewIdleInventories(time.Hour)
	cached := make([]any, 0, components)
	size := 0
	for i := range components {
		p := withInventory(t, fmt.Sprint("c", i), lines)
		if i == 0 {
			for _, line := range p.Status.Inventory {
				size += len(line)
			}
		}
		obj, err := idle.Transform(p)
		if err != nil {
			t.Fatal(err)
		}
		cached = append(cached, obj)
	}
	start := heap() - before
	idle.drop(time.Now().Add(90 * time.Minute))
	half := heap() - before
	idle.drop(time.Now().Add(3 * time.Hour))
	end := heap() - before
	t.Logf("%d components of %d KiB: %d MiB at the start, %d MiB after 1.5 idle times, %d MiB in the end",
		components, size>>10, start, half, end)
	runtime.KeepAlive(cached)
}
