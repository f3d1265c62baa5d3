package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// referenced is the store beneath the reflector of one scope. The lock of References guards all of it.
type referenced struct {
	references *References
	scope      scope
	cancel     context.CancelFunc
	kick       chan struct{}
	users      map[string]*referrer

	progress progress
	synced   bool
	failure  Failure
	objects  map[objectName]sighting
	// sum identifies all objects in their versions, and sums those of each owner.
	sum  Sum
	sums map[string]Sum
}

type objectName struct{ namespace, name string }

// sighting is what is known of an object: its version, and whose dependent it is, if that of one of our components.
type sighting struct{ version, owner string }

func newReferenced(r *References, s scope, cancel context.CancelFunc) *referenced {
	return &referenced{
		references: r, scope: s, cancel: cancel, kick: make(chan struct{}, 1), users: map[string]*referrer{},
		objects: map[objectName]sighting{}, sums: map[string]Sum{},
	}
}

// failed notes why a list failed. What was known stays known through a network failure.
func (w *referenced) failed(f listFailure) {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	if w.progress.fail(f); w.progress.known() {
		w.settle()
		return
	}
	failure := Failure{Message: f.message, Forbidden: f.reason == plan.WaitUnwatched}
	// The text of a network failure names ports, and so is another one each time: that is no news.
	news := w.failure == (Failure{}) || w.failure.Forbidden != failure.Forbidden || failure.Forbidden && w.failure != failure
	w.failure = failure
	if news {
		w.wakeAll()
	}
}

// retry makes a failed watch try again now. The caller holds the lock.
func (w *referenced) retry() {
	if w.failure == (Failure{}) {
		return
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// watched notes that a watch is open.
func (w *referenced) watched() {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	w.progress.watch = true
	w.settle()
}

// settle makes known what was listed as soon as it is watched, and says whether that was news, which all are told. The caller holds the
// lock.
func (w *referenced) settle() (news bool) {
	news = w.progress.known() && (!w.synced || w.failure != Failure{})
	if news {
		w.synced, w.failure = true, Failure{}
		w.wakeAll()
	}
	return news
}

// wake wakes those who use an object that has changed.
func (w *referenced) wake(name objectName) {
	for _, user := range w.users {
		if w.concerns(user, name) {
			user.wake()
		}
	}
}

func (w *referenced) concerns(user *referrer, name objectName) bool {
	for _, ref := range user.refs {
		if ref.scope(user.viewer) == w.scope && (ref.Name == "" || ref.Name == name.name) && (user.read == nil || w.differs(user, ref)) {
			return true
		}
	}
	return false
}

// wakeAll tells of what is known now, or not any more. Who has read what there is need not be told.
func (w *referenced) wakeAll() {
	for _, user := range w.users {
		if user.read == nil || w.failure != (Failure{}) || w.differsAny(user) {
			user.wake()
		}
	}
}

func (w *referenced) differsAny(user *referrer) bool {
	for _, ref := range user.refs {
		if ref.scope(user.viewer) == w.scope && w.differs(user, ref) {
			return true
		}
	}
	return false
}

// Add notes that an object is there.
func (w *referenced) Add(obj any) error { return w.Update(obj) }

// Update notes a new resource version and wakes those who use the object.
func (w *referenced) Update(obj any) error {
	return w.with(obj, func(m metav1.Object) { w.set(nameOf(m), w.see(m)) })
}

// Delete notes that an object is gone and wakes those who use it.
func (w *referenced) Delete(obj any) error {
	return w.with(obj, func(m metav1.Object) { w.set(nameOf(m), sighting{}) })
}

func (w *referenced) with(obj any, do func(metav1.Object)) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	do(m)
	return nil
}

func nameOf(m metav1.Object) objectName { return objectName{m.GetNamespace(), m.GetName()} }

func (w *referenced) see(m metav1.Object) sighting {
	owner, _ := manifests.OwnerOf(m.GetLabels(), m.GetAnnotations(), w.references.reconciler, "")
	return sighting{version: m.GetResourceVersion(), owner: owner}
}

func (w *referenced) set(name objectName, seen sighting) {
	if w.objects[name] == seen {
		return
	}
	w.put(name, seen)
	w.wake(name)
}

// put replaces what is known of an object, by nothing where it is gone.
func (w *referenced) put(name objectName, seen sighting) {
	if old, ok := w.objects[name]; ok {
		w.sum = w.sum.without(name, old)
		w.sums[old.owner] = w.sums[old.owner].without(name, old)
	}
	if seen.version == "" {
		delete(w.objects, name)
		return
	}
	w.objects[name] = seen
	w.sum = w.sum.with(name, seen)
	w.sums[seen.owner] = w.sums[seen.owner].with(name, seen)
}

// Replace takes over a complete list.
func (w *referenced) Replace(list []any, _ string) error {
	w.references.mu.Lock()
	defer w.references.mu.Unlock()
	listed := make(map[objectName]sighting, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		listed[nameOf(m)] = w.see(m)
	}
	changed := w.replace(listed)
	w.progress.list = true
	if w.settle() || !w.progress.known() {
		return nil
	}
	for _, name := range changed {
		w.wake(name)
	}
	return nil
}

// replace returns the names of those that were changed, came or went.
func (w *referenced) replace(listed map[objectName]sighting) []objectName {
	var changed []objectName
	for name := range w.objects {
		if _, ok := listed[name]; !ok {
			changed = append(changed, name)
			w.put(name, sighting{})
		}
	}
	for name, seen := range listed {
		if w.objects[name] != seen {
			changed = append(changed, name)
			w.put(name, seen)
		}
	}
	return changed
}

// Resync does nothing: nothing is polled.
func (w *referenced) Resync() error { return nil }
