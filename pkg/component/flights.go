package component

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// maxInterrupted is how many passes in a row come to nothing because something else is wanted: the next one goes on to its end for a spec that is
// not the newest any more, or a component whose spec changes faster than it can be applied would never get anywhere.
const maxInterrupted = 10

// flights are the passes under way, of which a component has one at the most. A watch tells them what their components want by now.
type flights struct {
	mu       sync.Mutex
	underway map[types.NamespacedName]*flight
	// interrupted counts the passes that came to nothing since one came to its end.
	interrupted map[types.NamespacedName]int
}

// flight is a pass under way.
type flight struct {
	// works is what of the component the pass works with, nil until it is loaded; newest is what the watch has shown since the pass began.
	works, newest *wanted
	superseded    chan struct{}
	over          bool
	// insists says that no other spec ends the pass, unless it is one that wants nothing to be written; see wanted.rests.
	insists bool
}

// wanted is what of a component decides whether a pass works for what is wanted.
type wanted struct {
	uid             types.UID
	generation      int64
	deleting, gone  bool
	suspended       bool
	resourceVersion string
}

func wantedOf(obj client.Object) *wanted {
	return &wanted{
		uid: obj.GetUID(), generation: obj.GetGeneration(), deleting: !obj.GetDeletionTimestamp().IsZero(), suspended: seemsSuspended(obj),
		resourceVersion: obj.GetResourceVersion(),
	}
}

// isSuspended says that an object is a component that is suspended.
func isSuspended(obj client.Object) bool {
	s, ok := obj.(Suspender)
	return ok && s.Suspended()
}

// seemsSuspended is isSuspended for what a watch delivers, where a panic of the type's author would end the process, and again after each
// start. The pass for that component asks, too, and its panic is an error of that component alone.
func seemsSuspended(obj client.Object) (suspended bool) {
	defer func() {
		if recover() != nil {
			suspended = false
		}
	}()
	return isSuspended(obj)
}

// supersedes says that a pass need not go on. What the watch shows may be older than what the pass works with.
func (w *wanted) supersedes(f *flight) bool {
	if !inspect.Newer(w.resourceVersion, f.works.resourceVersion) {
		return false
	}
	if f.insists {
		return !w.lives(f.works) || w.rests(f.works)
	}
	return !w.same(f.works)
}

// rests says that a component is suspended by now: nothing more may be written for it, and it is not going to get anywhere.
func (w *wanted) rests(before *wanted) bool { return w.suspended && !before.suspended }

// same says that a component wants the same.
func (w *wanted) same(other *wanted) bool { return w.lives(other) && w.generation == other.generation }

// lives says that it is the same component, which is deleted by now no more than it was.
func (w *wanted) lives(other *wanted) bool {
	return w.uid == other.uid && w.deleting == other.deleting && w.gone == other.gone
}

func newFlights() *flights {
	return &flights{underway: map[types.NamespacedName]*flight{}, interrupted: map[types.NamespacedName]int{}}
}

// begin notes a pass before its component is loaded, so that it misses nothing.
func (f *flights) begin(name types.NamespacedName) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := &flight{superseded: make(chan struct{}), insists: f.interrupted[name] >= maxInterrupted}
	f.underway[name] = begun
	return begun
}

func (f *flights) end(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.underway, name)
}

// cameTo notes whether a pass came to an end of its own, and forgets what was noted of those before where it did.
func (f *flights) cameTo(name types.NamespacedName, anEnd bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if anEnd {
		delete(f.interrupted, name)
		return
	}
	f.interrupted[name]++
}

// insists says that a new spec does not end the pass over a component; see flight.insists.
func (f *flights) insists(name types.NamespacedName) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	under := f.underway[name]
	return under != nil && under.insists
}

// loaded tells what the pass over a component works with.
func (f *flights) loaded(name types.NamespacedName, obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if under := f.underway[name]; under != nil {
		under.works = wantedOf(obj)
		under.judge()
	}
}

// superseded returns what is closed when the pass over a component need not go on; it is nil where there is none.
func (f *flights) superseded(name types.NamespacedName) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if under := f.underway[name]; under != nil {
		return under.superseded
	}
	return nil
}

// seen tells what the watch shows of a component.
func (f *flights) seen(obj any, gone bool) {
	if lost, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = lost.Obj
	}
	component, ok := obj.(client.Object)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if under := f.underway[client.ObjectKeyFromObject(component)]; under != nil {
		under.newest = wantedOf(component)
		under.newest.gone = gone
		under.judge()
	}
}

// judge ends the pass where something else is wanted. The caller holds the lock.
func (f *flight) judge() {
	if f.over || f.works == nil || f.newest == nil || !f.newest.supersedes(f) {
		return
	}
	f.over = true
	close(f.superseded)
}

// handler listens to the watch on components.
func (f *flights) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f.seen(obj, false) },
		UpdateFunc: func(_, obj any) { f.seen(obj, false) },
		DeleteFunc: func(obj any) { f.seen(obj, true) },
	}
}

// watchFlights lets passes under way know what their components want by now.
func (r *Reconciler[T]) watchFlights(ctx context.Context, components ctrlcache.Cache, prototype T) error {
	informer, err := components.GetInformer(ctx, prototype, ctrlcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(r.flights.handler())
	return err
}

// isOver says that the pass need not go on.
func (f *flight) isOver() bool { return isClosed(f.superseded) }

// interrupted says that what a pass came to is moot: something else is wanted, or somebody else wrote, or the operator is stopping.
func (f *flight) interrupted(err error) bool {
	return condition.Interrupted(err) || err != nil && f.isOver()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
