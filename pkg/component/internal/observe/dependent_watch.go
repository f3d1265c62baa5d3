package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// dependentWatch is a watch on the dependents of one resource: the objects with the owner label. It is the store of its
// reflector. The Observer's lock protects all fields.
type dependentWatch struct {
	watchState

	resource WatchedResource
	// version is the version of the type that the next list prefers.
	version string
	// withBodies is set if the bodies of objects are stored in addition to their facts.
	withBodies bool
	objects    dependentObjects
}

// startDependentWatch starts a watch that sends its requests with the identity of a reader. The caller holds the lock.
func (o *Observer) startDependentWatch(reader Reader, r WatchedResource, version string) *dependentWatch {
	ctx, cancel := context.WithCancel(o.lifetime)
	w := newDependentWatch(o, r, version, cancel)
	selector := o.reconciler + "/" + manifests.LabelOwnerID
	go reflectorLoop{
		requests: func() (*cache.ListWatch, error) {
			metadataOnly := !builtintypes.HasStatus(r.Type) && !w.withBodies && !o.view.NeedsBody(r.Type)
			return o.listWatches.listWatch(reader, r, w.preferredVersion(), selector, metadataOnly)
		},
		mapper: o.listWatches.mapper, store: w, listener: w, retry: w.retrySignal,
		name: "dependents of type " + r.Type.String(), reader: reader,
	}.run(ctx)
	return w
}

func newDependentWatch(
	o *Observer, r WatchedResource, version string, cancel context.CancelFunc,
) *dependentWatch {
	w := &dependentWatch{
		watchState: newWatchState(o, cancel, "its type is listed for the first time"),
		resource:   r, version: version, withBodies: o.withBodies[r.Type], objects: newDependentObjects(),
	}
	w.readable = func() bool { return o.listWatches.readable(r.Type, w.preferredVersion()) }
	return w
}

// preferredVersion returns the version in the latest call of Observer.Watch.
func (w *dependentWatch) preferredVersion() string {
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	return w.version
}

// Transformer reduces objects to facts as soon as they arrive.
func (w *dependentWatch) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return w.reduce(obj), nil }
}

// Add stores an object and enqueues its owner.
func (w *dependentWatch) Add(obj any) error { return w.Update(obj) }

// Update stores an object and enqueues its owner and its previous owner.
func (w *dependentWatch) Update(obj any) error {
	object := w.reduce(obj)
	if object == nil {
		return nil
	}
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	w.put(object)
	return nil
}

// Delete removes an object and enqueues its owner. If the object had finished its work, this fact is stored for the
// time finishedLifetime.
func (w *dependentWatch) Delete(obj any) error {
	object := w.reduce(obj)
	if object == nil {
		return nil
	}
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	key := object.key
	if w.objects.deleted[key] == object.UID {
		delete(w.objects.deleted, key)
	}
	old := w.objects.observed[key]
	if old == nil || old.UID != object.UID || inspect.Newer(old.ResourceVersion, object.ResourceVersion) {
		return nil
	}
	w.remove(key)
	if object.Finished {
		w.rememberFinished(key, &object.Observed)
	}
	w.handle(key, event{owner: old.Owner, resourceVersion: object.ResourceVersion, deletion: true})
	return nil
}

// Replace stores a complete list. Objects that are missing from the list are removed, unless their stored version is
// newer than the list.
func (w *dependentWatch) Replace(list []any, resourceVersion string) error {
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	listed := make(map[manifests.Key]bool, len(list))
	for _, obj := range list {
		if object := w.reduce(obj); object != nil {
			listed[object.key] = true
			w.put(object)
		}
	}
	w.noteMissing(listed, resourceVersion)
	for key, old := range w.objects.observed {
		if !listed[key] && !inspect.Newer(old.ResourceVersion, resourceVersion) {
			w.remove(key)
			w.handle(key, event{owner: old.Owner, resourceVersion: resourceVersion, deletion: true})
		}
	}
	w.noteList()
	return nil
}

// Resync does nothing, because only watch events are handled.
func (w *dependentWatch) Resync() error { return nil }

// put stores the object of a watch event, and enqueues its owner and its previous owner. The caller holds the lock.
func (w *dependentWatch) put(object *observedObject) {
	key := object.key
	if uid, ok := w.objects.deleted[key]; ok {
		if uid == object.UID {
			// The watch event is older than our own delete.
			return
		}
		// The watch event shows a later object with the same name, so the watch has passed the deletion.
		delete(w.objects.deleted, key)
	}
	defer w.objects.putBody(object)
	old, observed := w.objects.observed[key], object.Observed
	if old != nil && !inspect.Newer(observed.ResourceVersion, old.ResourceVersion) {
		return
	}
	w.objects.observed[key] = &observed
	w.handle(key, event{owner: observed.Owner, resourceVersion: observed.ResourceVersion})
	if old != nil && old.Owner != observed.Owner {
		w.handle(key, event{owner: old.Owner, resourceVersion: observed.ResourceVersion})
	}
}

// handle enqueues the owner of a changed object. While the reconciler writes the object, the watch event is pending,
// because only the response shows whether that write caused the event. An owner that does not use this watch is not
// enqueued here, because its own watch on the object enqueues it. The caller holds the lock.
func (w *dependentWatch) handle(key manifests.Key, e event) {
	inFlight := w.observer.writes[key]
	if inFlight != nil && e.deletion {
		inFlight.deletedAt = e.resourceVersion
	}
	switch {
	case !w.users[e.owner]:
	case inFlight == nil:
		w.observer.components.enqueue(e.owner)
	default:
		inFlight.pending = append(inFlight.pending, e)
	}
}

// storeAnswer stores the object from the response to a read or write of the reconciler. If the owner of the object
// changed, only the previous owner is enqueued. body is the whole object of some response, or nil. The caller holds the
// lock.
func (w *dependentWatch) storeAnswer(key manifests.Key, answer plan.Observed, body *unstructured.Unstructured) {
	// The result depends on the manifest, which may change while the object does not.
	answer.MatchResult = nil
	old := w.objects.observed[key]
	switch {
	case answer.Presence == plan.Absent:
		if old != nil && (answer.UID == "" || answer.UID == old.UID) {
			w.remove(key)
			w.objects.deleted[key] = old.UID
		}
	case answer.Presence == plan.Present && (old == nil || !inspect.Newer(old.ResourceVersion, answer.ResourceVersion)):
		w.objects.observed[key] = &answer
		if w.withBodies && body != nil && body.GetResourceVersion() == answer.ResourceVersion {
			w.objects.bodies[key] = body
		}
		if old != nil && old.Owner != answer.Owner {
			w.observer.components.enqueue(old.Owner)
		}
	}
}

// remove removes an object from the store, and starts the delay after which components that wait for the object try to
// create it. The caller holds the lock.
func (w *dependentWatch) remove(key manifests.Key) {
	h, old := w.observer.handovers[key], w.objects.observed[key]
	if h != nil && old != nil {
		h.setOwner(Owner{ID: old.Owner, Name: old.OwnerName})
	}
	w.objects.remove(key)
	if h != nil {
		h.schedule(w, key)
	}
}

// noteMissing handles objects that are missing from a list, because no watch event will show that such an object was
// deleted before the list. If the reconciler deleted the object, its UID is removed from the map deleted. If a write to
// the object is in flight, the version of the list is stored as the version of the deletion. The caller holds the lock.
func (w *dependentWatch) noteMissing(listed map[manifests.Key]bool, resourceVersion string) {
	for key := range w.objects.deleted {
		if !listed[key] {
			delete(w.objects.deleted, key)
		}
	}
	for key, inFlight := range w.observer.writes {
		if w.observer.dependents.resourceOf(key) == w.resource && !listed[key] {
			inFlight.deletedAt = resourceVersion
		}
	}
}
