package components

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/backoff"
)

// droppedInventory is the only line of the inventory of a cached component whose lines are elsewhere. It is no valid
// line of an inventory.
const droppedInventory = "the lines are not in the cache; read the component from the API server"

// minDropped is the number of lines from which on an inventory is kept apart from its component. Smaller ones are not
// worth a request.
const minDropped = 16

// sweeps is the number of times in an idle time at which inventories are dropped.
const sweeps = 8

// IdleInventories keeps the inventories of cached components apart from them, until no pass was made for the idle time.
// All inventories are kept at the start, and dropped one after the other, after one to two idle times. A nil
// IdleInventories keeps all inventories in the cache.
type IdleInventories struct {
	idle time.Duration

	mu   sync.Mutex
	kept map[types.UID]*keptInventory
	// managers are the field managers of the reconcilers that use these inventories.
	managers []string
}

// keptInventory is an inventory that its digest identifies.
type keptInventory struct {
	digest  string
	lines   []string
	touched time.Time
}

// NewIdleInventories returns IdleInventories with an idle time. Zero leaves all inventories in the cache.
func NewIdleInventories(idle time.Duration) *IdleInventories {
	return &IdleInventories{idle: idle, kept: map[types.UID]*keptInventory{}}
}

// Serve adds the field managers of a reconciler. It must be called before the cache starts. i may be nil.
func (i *IdleInventories) Serve(managers []string) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, manager := range managers {
		if !slices.Contains(i.managers, manager) {
			i.managers = append(slices.Clone(i.managers), manager)
		}
	}
}

func (i *IdleInventories) servedManagers() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.managers
}

// Transform is a function for the cache of the components. It removes managed fields, and moves the inventory. Before,
// it marks a record that another client wrote, as the managed fields show; see Doubt. An inventory that was lost or
// edited stays, so that this is seen. Other objects are not changed.
func (i *IdleInventories) Transform(obj any) (any, error) {
	component, ok := obj.(Object)
	if !ok {
		return obj, nil
	}
	status := component.GetStatus()
	if cause := foreignManager(component, i.servedManagers()); cause != "" {
		mark(status, cause)
	}
	component.SetManagedFields(nil)
	if i.idle == 0 || len(status.Inventory) < minDropped || InventoryDigest(status.Inventory) != status.InventoryDigest {
		return obj, nil
	}
	i.put(component.GetUID(), status.InventoryDigest, status.Inventory)
	status.Inventory = []string{droppedInventory}
	return obj, nil
}

// put keeps an inventory. The times of the inventories of a list are spread, so that they are not dropped together.
func (i *IdleInventories) put(uid types.UID, digest string, lines []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := i.kept[uid]; known != nil && known.digest == digest {
		return
	}
	i.kept[uid] = &keptInventory{digest: digest, lines: lines, touched: time.Now().Add(backoff.Within(i.idle))}
}

// isDropped reports whether the lines of an inventory are elsewhere.
func isDropped(status *metav1alpha1.Status) bool {
	return len(status.Inventory) == 1 && status.Inventory[0] == droppedInventory
}

// fill puts the inventory into a copy of a cached component. It returns false if the inventory was dropped, so that the
// component has to be read from the API server.
func (i *IdleInventories) fill(component Object) bool {
	status := component.GetStatus()
	if !isDropped(status) {
		return true
	}
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.kept[component.GetUID()]
	if known == nil || known.digest != status.InventoryDigest {
		return false
	}
	if now := time.Now(); now.After(known.touched) { // The first passes after a start must not end the spread of put.
		known.touched = now
	}
	status.Inventory = slices.Clone(known.lines)
	return true
}

// keep keeps the inventory of a component that was read from the API server.
func (i *IdleInventories) keep(component Object) {
	status := component.GetStatus()
	if i == nil || i.idle == 0 || len(status.Inventory) < minDropped {
		return
	}
	if InventoryDigest(status.Inventory) == status.InventoryDigest {
		i.put(component.GetUID(), status.InventoryDigest, slices.Clone(status.Inventory))
	}
}

// Run drops the inventories of idle components until ctx ends. It calls dropElsewhere at the same times, with the
// idle time, to drop the inventories that are kept elsewhere.
func (i *IdleInventories) Run(ctx context.Context, dropElsewhere func(idle time.Duration, now time.Time)) {
	if i == nil || i.idle == 0 {
		return
	}
	ticker := time.NewTicker(max(i.idle/sweeps, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			i.drop(now)
			dropElsewhere(i.idle, now)
		}
	}
}

// drop drops the inventories that were not used for the idle time.
func (i *IdleInventories) drop(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for uid, known := range i.kept {
		if now.Sub(known.touched) > i.idle {
			delete(i.kept, uid)
		}
	}
}
