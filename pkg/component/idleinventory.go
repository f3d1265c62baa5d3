package component

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
)

// IdleInventory keeps the inventories in the status of cached components, up to 256 KiB each, apart from the
// components. The inventory of a component without a pass for some time is dropped, and the next pass reads the
// component by one request. All inventories are kept at the start, and dropped one after the other. Larger inventories,
// which are in Secrets, are dropped after the same time, and read by one request for each Secret. All reconcilers of a
// manager share an IdleInventory.
//
// A component that is read from the manager's client then lacks the inventory in its status. So write its status with
// Reconciler.UpdateStatus, or with a patch.
type IdleInventory struct{ inventories *components.IdleInventories }

// NewIdleInventory returns an IdleInventory that drops the inventories of components without a pass for once to
// twice the given time. Zero keeps all inventories in the cache.
func NewIdleInventory(after time.Duration) *IdleInventory {
	return &IdleInventory{components.NewIdleInventories(max(after, 0))}
}

// Transform is a cache.TransformFunc for components. Options.Cache sets it. It also removes managed fields, after it
// noted whether they show that another client wrote the record of the dependents. A transform that removes them before
// leaves it unknown after a start. Other objects are not changed.
func (i *IdleInventory) Transform(obj any) (any, error) { return i.inventories.Transform(obj) }

func (i *IdleInventory) kept() *components.IdleInventories {
	if i == nil {
		return nil
	}
	return i.inventories
}
