package observe

import (
	"slices"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// write is the state of an object with writes of the reconciler in flight.
type write struct {
	// inFlight is the number of writes.
	inFlight int
	// pending are the events that arrived since the first of these writes began.
	pending []event
	// deletedAt is the resource version at which the watch showed, during these writes, that the object was deleted. It is
	// empty if the watch showed no deletion.
	deletedAt string
}

// supersedes reports whether the object was deleted after the write that was answered.
func (w *write) supersedes(answer *plan.Observed) bool {
	return w.deletedAt != "" && inspect.Newer(w.deletedAt, answer.ResourceVersion)
}

// event is a change of an object that a watch showed, for one of its owners.
type event struct {
	owner, resourceVersion string
	// deletion reports whether the object disappeared from the watch.
	deletion bool
}

// isEchoOf reports whether an event belongs to the answered write. The owner is not enqueued for such an event, because
// its pass got the answer.
func (e event) isEchoOf(answer *plan.Observed) bool {
	switch {
	case answer == nil:
		return false
	case answer.Presence == plan.Absent:
		return e.deletion
	}
	return e.owner == answer.Owner && e.resourceVersion == answer.ResourceVersion
}

// BeginWrite begins a write to an object. The caller must call the returned function once, with the object in the
// answer, or with nil if the result is unknown. Events that arrive in between enqueue the owner unless they belong to
// this write.
func (o *Observer) BeginWrite(key manifests.Key) (done func(answer *plan.Observed)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[key]
	if w == nil {
		w = &write{}
		o.writes[key] = w
	}
	w.inFlight++
	return func(answer *plan.Observed) { w.end(o, key, answer) }
}

// end stores the answer to a write. After the last write to the object, it enqueues the owners of the pending events.
func (w *write) end(o *Observer, key manifests.Key, answer *plan.Observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.storeAnswer(o, key, answer)
	w.inFlight--
	if w.inFlight > 0 {
		return
	}
	delete(o.writes, key)
	for _, e := range w.pending {
		if !e.isEchoOf(answer) {
			o.components.enqueue(e.owner)
		}
	}
}

// storeAnswer stores the answer to a write in the watches of all readers that contain the object, so that the events of
// our own write do not look like changes by another client. The caller holds the lock.
func (w *write) storeAnswer(o *Observer, key manifests.Key, answer *plan.Observed) {
	watches := o.dependents.containing(key)
	if answer == nil || len(watches) == 0 {
		return
	}
	if answer.Presence == plan.Present && w.supersedes(answer) {
		// The object is gone, but the pass that wrote it takes it for present, so the owner must be enqueued. A pending
		// deletion event does that later; without such an event, it is done now.
		if !slices.ContainsFunc(w.pending, func(e event) bool { return e.deletion }) {
			o.components.enqueue(answer.Owner)
		}
		return
	}
	for _, watch := range watches {
		watch.storeAnswer(key, *answer)
	}
}
