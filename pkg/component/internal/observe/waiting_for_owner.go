package observe

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// handoverDelay is the time for which an object must have no owner before a waiting component tries to create or adopt
// the object. Within this time the previous owner may create the object again, for example if the component was deleted
// and created again.
const handoverDelay = 2 * time.Second

// Owner is the owner of an object: the owner id, and its readable form from the owner annotation.
type Owner struct{ ID, Name string }

// handover is an object that components wait for because another component owns it.
type handover struct {
	// waiting are the owner ids of the components that wait.
	waiting map[string]bool
	// owner is the last known owner of the object.
	owner Owner
	// relinquished is set if the latest pass over the owner neither recorded nor rendered the object.
	relinquished bool
	// timers contains the timer of the handover delay for each watch that contains the object.
	timers map[*dependentWatch]*time.Timer
}

func (h *handover) setOwner(owner Owner) {
	if owner.ID != "" && owner.ID != h.owner.ID {
		h.owner, h.relinquished = owner, false
	}
}

// reserved reports whether the owner may create the object again: the owner still exists, and has not relinquished the
// object.
func (h *handover) reserved(among components) bool {
	return !h.relinquished && among[h.owner.ID] != nil
}

// schedule starts or restarts the handover delay of an object, for the components that use a watch. It must be called
// after the object disappeared or its owner relinquished it. If the object has an owner at the end of the delay,
// nothing happens. If the previous owner still exists and has not relinquished the object, only the previous owner is
// enqueued, because it may create the object again; at the end of its pass, ReportOwned is called. Otherwise the
// waiting components are enqueued. The caller holds the Observer's lock.
func (h *handover) schedule(w *dependentWatch, key manifests.Key) {
	if t := h.timers[w]; t != nil {
		t.Stop()
	}
	o := w.observer
	h.timers[w] = time.AfterFunc(handoverDelay, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		current := o.handovers[key]
		switch {
		case current == nil || w.objects.present(key) && w.objects.observed[key].Owner != "":
		case current.reserved(o.components):
			o.components.enqueue(current.owner.ID)
		default:
			for ownerID := range current.waiting {
				if w.users[ownerID] {
					o.components.enqueue(ownerID)
				}
			}
		}
	})
}

// scheduleAll calls schedule for each watch that contains an object. The caller holds the lock.
func (h *handover) scheduleAll(o *Observer, key manifests.Key) {
	for _, w := range o.dependents.containing(key) {
		h.schedule(w, key)
	}
}

// AwaitHandover sets the objects that a component renders but that have other owners. The values of owners are the
// owners of these objects, or zero if the owner is not a component of this reconciler. The component is enqueued when
// such an object has had no owner for the time handoverDelay, and the previous owner has relinquished the object or no
// longer exists. Before that, only the previous owner is enqueued, because it may create the object again, and
// SnapshotFor shows an absent object as the previous owner's. A call replaces the objects of the previous call.
func (o *Observer) AwaitHandover(ownerID string, owners map[manifests.Key]Owner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return
	}
	previous := c.awaits
	c.awaits = owners
	for key, owner := range owners {
		h := o.handovers[key]
		if h == nil {
			h = &handover{waiting: map[string]bool{}, timers: map[*dependentWatch]*time.Timer{}}
			o.handovers[key] = h
		}
		h.waiting[ownerID] = true
		h.setOwner(owner)
		// The object may have disappeared after the pass took its snapshot. If the component awaited the object before, the
		// watch has already started the delay.
		_, awaited := previous[key]
		w := o.dependents.watch(c.reader, o.dependents.resourceOf(key))
		if owner.ID != "" && !awaited && w != nil && !w.objects.present(key) {
			h.schedule(w, key)
		}
	}
	for key := range previous {
		if _, awaited := owners[key]; !awaited {
			o.stopAwaiting(ownerID, key)
		}
	}
}

// stopAwaiting removes a component from the components that wait for an object. The caller holds the lock.
func (o *Observer) stopAwaiting(ownerID string, key manifests.Key) {
	h := o.handovers[key]
	if delete(h.waiting, ownerID); len(h.waiting) == 0 {
		delete(o.handovers, key)
	}
}

// ReportOwned must be called at the end of a pass. The function owned reports whether the component records or renders
// an object. If other components wait for an object of this component, and the component no longer records or renders
// the object, ReportOwned starts the handover delay.
func (o *Observer) ReportOwned(ownerID string, owned func(manifests.Key) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, h := range o.handovers {
		if h.owner.ID != ownerID {
			continue
		}
		relinquished := !owned(key)
		if relinquished && !h.relinquished {
			h.scheduleAll(o, key)
		}
		h.relinquished = relinquished
	}
}
