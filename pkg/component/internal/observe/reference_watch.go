package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// referenceWatch is a watch on referenced objects. It is the store of its reflector. The lock of References protects
// all fields.
type referenceWatch struct {
	references *References
	key        referenceWatchKey
	cancel     context.CancelFunc
	// retrySignal ends the pause of the reflector loop after a failure.
	retrySignal chan struct{}
	users       map[string]*referrer

	progress progress
	synced   bool
	failure  Failure
	objects  map[objectName]referencedObject
	// sum is the Sum of all objects. sums has the Sum of the dependents of each component, by owner id.
	sum  Sum
	sums map[string]Sum
}

type objectName struct{ namespace, name string }

func nameOf(m metav1.Object) objectName { return objectName{m.GetNamespace(), m.GetName()} }

// referencedObject is the stored part of an object: its resource version, and its owner id if the object is a dependent
// of a component of the reconciler. The version is empty if the object does not exist.
type referencedObject struct{ version, owner string }

func newReferenceWatch(r *References, key referenceWatchKey, cancel context.CancelFunc) *referenceWatch {
	return &referenceWatch{
		references: r, key: key, cancel: cancel, retrySignal: make(chan struct{}, 1), users: map[string]*referrer{},
		objects: map[objectName]referencedObject{}, sums: map[string]Sum{},
	}
}

// retryNow ends the pause of a failed watch, after the minimum retry delay. The caller holds the lock.
func (w *referenceWatch) retryNow() {
	if w.failure != (Failure{}) {
		signal(w.retrySignal)
	}
}

// listFailed implements loopListener. After a network failure, known objects remain known.
func (w *referenceWatch) listFailed(f watchFailure) {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	if w.progress.noteFailure(f); w.progress.synced() {
		w.updateSynced()
		return
	}
	failure := Failure{Message: f.message, Forbidden: f.reason == plan.WaitUnwatched}
	// The message of a network failure contains ports and so differs each time. A new message alone enqueues no component.
	news := w.failure == (Failure{}) || w.failure.Forbidden != failure.Forbidden ||
		failure.Forbidden && w.failure != failure
	w.failure = failure
	if news {
		w.enqueueAll()
	}
}

// watchOpened implements loopListener.
func (w *referenceWatch) watchOpened() {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	w.progress.watching = true
	w.updateSynced()
}

// updateSynced marks the objects as known if the list has succeeded and the watch is open. If the objects were not
// known before, it enqueues the components that use the watch and returns true. The caller holds the lock.
func (w *referenceWatch) updateSynced() (news bool) {
	news = w.progress.synced() && (!w.synced || w.failure != Failure{})
	if news {
		w.synced, w.failure = true, Failure{}
		w.enqueueAll()
	}
	return news
}

// enqueue enqueues the components that reference an object which has changed.
func (w *referenceWatch) enqueue(name objectName) {
	for _, user := range w.users {
		if w.concerns(user, name) {
			user.enqueue()
		}
	}
}

func (w *referenceWatch) concerns(user *referrer, name objectName) bool {
	for _, ref := range user.refs {
		named := ref.watchKey(user.reader) == w.key && (ref.Name == "" || ref.Name == name.name)
		if named && (user.read == nil || w.differs(user, ref)) {
			return true
		}
	}
	return false
}

// enqueueAll enqueues the components that use the watch, after the objects became known or unknown. A component is
// skipped if it has read the current versions.
func (w *referenceWatch) enqueueAll() {
	for _, user := range w.users {
		if user.read == nil || w.failure != (Failure{}) || w.differsAny(user) {
			user.enqueue()
		}
	}
}

// Add stores a new object and enqueues the components that reference it.
func (w *referenceWatch) Add(obj any) error { return w.Update(obj) }

// Update stores a new version of an object and enqueues the components that reference it.
func (w *referenceWatch) Update(obj any) error {
	return w.withLock(obj, func(m metav1.Object) { w.set(nameOf(m), w.reduce(m)) })
}

// Delete removes an object and enqueues the components that reference it.
func (w *referenceWatch) Delete(obj any) error {
	return w.withLock(obj, func(m metav1.Object) { w.set(nameOf(m), referencedObject{}) })
}

// Replace stores a complete list and enqueues the components that reference an object which changed.
func (w *referenceWatch) Replace(list []any, _ string) error {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	listed := make(map[objectName]referencedObject, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		listed[nameOf(m)] = w.reduce(m)
	}
	changed := w.putAll(listed)
	w.progress.listed = true
	if w.updateSynced() || !w.progress.synced() {
		return nil
	}
	for _, name := range changed {
		w.enqueue(name)
	}
	return nil
}

// Resync does nothing, because only watch events are handled.
func (w *referenceWatch) Resync() error { return nil }

func (w *referenceWatch) withLock(obj any, do func(metav1.Object)) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	do(m)
	return nil
}

func (w *referenceWatch) reduce(m metav1.Object) referencedObject {
	return referencedObject{version: m.GetResourceVersion(), owner: OwnerOf(m, w.references.reconciler)}
}

func (w *referenceWatch) set(name objectName, object referencedObject) {
	if w.objects[name] == object {
		return
	}
	w.put(name, object)
	w.enqueue(name)
}

// put stores an object, or removes it if its version is empty, and updates the sums.
func (w *referenceWatch) put(name objectName, object referencedObject) {
	if old, ok := w.objects[name]; ok {
		w.sum = w.sum.without(name, old)
		w.sums[old.owner] = w.sums[old.owner].without(name, old)
	}
	if object.version == "" {
		delete(w.objects, name)
		return
	}
	w.objects[name] = object
	w.sum = w.sum.with(name, object)
	w.sums[object.owner] = w.sums[object.owner].with(name, object)
}

// putAll replaces all objects and returns the names of the objects that changed.
func (w *referenceWatch) putAll(listed map[objectName]referencedObject) []objectName {
	var changed []objectName
	for name := range w.objects {
		if _, ok := listed[name]; !ok {
			changed = append(changed, name)
			w.put(name, referencedObject{})
		}
	}
	for name, object := range listed {
		if w.objects[name] != object {
			changed = append(changed, name)
			w.put(name, object)
		}
	}
	return changed
}
