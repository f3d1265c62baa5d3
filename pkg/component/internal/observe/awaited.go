package observe

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// awaitGrace is how long an object must be without an owner before those get a turn who wait for it. Whoever had it may be about to create it
// anew, because somebody else deleted it, or because its update policy is to recreate it.
const awaitGrace = 2 * time.Second

// Await says which objects an owner wants that belong to somebody else, and of each whether its watch said so. The owner is woken when one has been
// without an owner for a moment, as far as its watches show that. It replaces what the owner awaited before.
func (o *Observer) Await(ownerID string, keys map[manifests.Key]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return
	}
	o.stopAwaiting(ownerID, own)
	own.awaits = keys
	for key, shown := range keys {
		if o.awaited[key] == nil {
			o.awaited[key] = map[string]bool{}
		}
		o.awaited[key][ownerID] = true
		// It may have gone since the pass looked.
		if k := o.kinds[o.PlaceOf(key)][own.viewer.Name]; shown && k != nil && !k.isTaken(key) {
			k.freed(key)
		}
	}
}

// stopAwaiting forgets what an owner awaits. The caller holds the lock.
func (o *Observer) stopAwaiting(ownerID string, own *owner) {
	for key := range own.awaits {
		if delete(o.awaited[key], ownerID); len(o.awaited[key]) == 0 {
			delete(o.awaited, key)
		}
	}
	own.awaits = nil
}

// freed notes that an object went, or changed hands: those who wait for it are woken after a moment, unless somebody has it then. The caller holds
// the lock.
func (k *kind) freed(key manifests.Key) {
	if len(k.observer.awaited[key]) == 0 {
		return
	}
	time.AfterFunc(awaitGrace, func() {
		k.observer.mu.Lock()
		defer k.observer.mu.Unlock()
		if k.isTaken(key) {
			return
		}
		for ownerID := range k.observer.awaited[key] {
			if k.users[ownerID] {
				k.observer.wake(ownerID)
			}
		}
	})
}

// isTaken says that the watch shows an object that has an owner. The caller holds the lock.
func (k *kind) isTaken(key manifests.Key) bool {
	o := k.records[key]
	return o != nil && o.Presence == plan.Present && o.Owner != ""
}
