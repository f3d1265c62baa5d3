package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// write is the state of the reconciler's writes in flight to one object.
type write struct {
	// inFlight is the number of writes in flight.
	inFlight int
	// pending are the watch events that arrived since the first of these writes began.
	pending []event
	// body is the object in the last response, if its type is stored with bodies.
	body *unstructured.Unstructured
	// deletedAt is the resource version at which the watch showed, during these writes, that the object was deleted. It is
	// empty if the watch showed no deletion.
	deletedAt string
}

// supersedes reports whether the watch showed that the object was deleted after the write with this response.
func (w *write) supersedes(answer *plan.Observed) bool {
	return w.deletedAt != "" && inspect.Newer(w.deletedAt, answer.ResourceVersion)
}

// event is a watch event: a change of an object. If the owner of the object changed, there is an event for each of
// the two owners.
type event struct {
	owner, resourceVersion string
	// deletion reports whether the object disappeared from the watch.
	deletion bool
}

// isEchoOf reports whether the write with this response caused an event. Such an event does not enqueue the owner,
// because the pass has the response.
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
// response, or with nil if the result is unknown. Events that arrive before this call enqueue the owner unless this
// write caused them.
func (o *Observer) BeginWrite(key manifests.Key) (done func(answer *plan.Observed)) {
	return o.begin(key, false)
}

// BeginRead begins a read of an object, as BeginWrite does. The response never adds an object to a watch: it may be
// older than an event by which the object disappeared from the watch, and no event would remove the object again.
func (o *Observer) BeginRead(key manifests.Key) (done func(answer *plan.Observed)) {
	return o.begin(key, true)
}

func (o *Observer) begin(key manifests.Key, isRead bool) (done func(answer *plan.Observed)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[key]
	if w == nil {
		w = &write{}
		o.writes[key] = w
	}
	w.inFlight++
	return func(answer *plan.Observed) { w.end(o, key, answer, isRead) }
}

// Received stores the object in a response to a write that has begun, so that Body returns it before the watch shows
// it.
func (o *Observer) Received(key manifests.Key, obj *unstructured.Unstructured) {
	if !o.withBodies[key.GroupKind()] {
		return
	}
	body := obj.DeepCopy()
	o.mu.Lock()
	defer o.mu.Unlock()
	if w := o.writes[key]; w != nil {
		w.body = body
	}
}

// end stores the response to a write. After the last write to the object, it enqueues the owners of the pending watch
// events.
func (w *write) end(o *Observer, key manifests.Key, answer *plan.Observed, isRead bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.storeAnswer(o, key, answer, isRead)
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

// storeAnswer stores the response to a write in the watches of all readers that contain the object, so that the events
// of this write are not mistaken for changes by another client. The caller holds the lock.
func (w *write) storeAnswer(o *Observer, key manifests.Key, answer *plan.Observed, isRead bool) {
	watches := o.dependents.containing(key)
	if answer == nil || len(watches) == 0 {
		return
	}
	if answer.Presence == plan.Present && w.supersedes(answer) {
		// The object was deleted after the write, but the pass that wrote it still assumes that it exists, so the owner must
		// be enqueued. A pending deletion event enqueues the owner later. Without such an event, the owner is enqueued here.
		if !slices.ContainsFunc(w.pending, func(e event) bool { return e.deletion }) {
			o.components.enqueue(answer.Owner)
		}
		return
	}
	for _, watch := range watches {
		if !isRead || answer.Presence != plan.Present || watch.objects.present(key) {
			watch.storeAnswer(key, *answer, w.body)
		}
	}
}
