package observe

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// instanceWatch is a watch on the metadata of all objects of a managed type, with any owner or none. The watch runs
// while the deletion of a component needs the list of these objects. It is the store of its reflector. The Observer's
// lock protects all fields.
type instanceWatch struct {
	watchState

	gk      schema.GroupKind
	objects map[types.UID]manifests.Key
}

// instanceWatchKey identifies an instanceWatch: the name of its reader, and the type.
type instanceWatchKey struct {
	reader string
	gk     schema.GroupKind
}

// WatchInstances sets the managed types whose instances are watched for a component, in all namespaces. It starts
// missing watches, retries failed watches, and stops the component's watches on the instances of all other types. The
// component is enqueued when an instance is created or deleted. Watch must have been called for the component before;
// an unknown component is ignored.
func (o *Observer) WatchInstances(ownerID string, gks []schema.GroupKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return
	}
	previous := c.instances
	c.instances = make(map[schema.GroupKind]bool, len(gks))
	for _, gk := range gks {
		key := instanceWatchKey{c.reader.Name, gk}
		w := o.instances[key]
		if w == nil {
			w = o.startInstanceWatch(c.reader, gk)
			o.instances[key] = w
		}
		c.instances[gk], w.users[ownerID] = true, true
		w.retryNow()
	}
	for gk := range previous {
		if !c.instances[gk] {
			o.removeInstanceUser(ownerID, instanceWatchKey{c.reader.Name, gk})
		}
	}
	o.definitions.update()
}

// startInstanceWatch starts a watch that sends its requests with the identity of a reader. The caller holds the lock.
func (o *Observer) startInstanceWatch(reader Reader, gk schema.GroupKind) *instanceWatch {
	ctx, cancel := context.WithCancel(o.lifetime)
	w := newInstanceWatch(o, gk, cancel)
	go reflectorLoop{
		requests: func() (*cache.ListWatch, error) {
			return o.listWatches.listWatch(reader, WatchedResource{Type: gk}, "", "", true)
		},
		mapper: o.listWatches.mapper, store: w, listener: w, retry: w.retrySignal,
		name: "instances of type " + gk.String(), reader: reader,
	}.run(ctx)
	return w
}

func newInstanceWatch(o *Observer, gk schema.GroupKind, cancel context.CancelFunc) *instanceWatch {
	return &instanceWatch{
		watchState: newWatchState(o, cancel, "its instances are listed for the first time"),
		gk:         gk, objects: map[types.UID]manifests.Key{},
	}
}

// Instances returns all objects of a managed type according to the watch of a reader. If the watch is not in sync,
// reason and message state the cause. A type that is not served has the reason plan.WaitNotServed.
func (o *Observer) Instances(
	reader Reader, gk schema.GroupKind,
) (found []inspect.Instance, reason plan.WaitReason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.instances[instanceWatchKey{reader.Name, gk}]
	if w == nil {
		return nil, plan.WaitObserving, "its instances are not watched yet"
	}
	for uid, key := range w.objects {
		found = append(found, inspect.Instance{Key: key, UID: uid})
	}
	return found, w.reason, w.message
}

// Add stores an instance and enqueues the components that use this watch.
func (w *instanceWatch) Add(obj any) error { return w.Update(obj) }

// Update stores an instance. It enqueues the components that use this watch only if the instance is new.
func (w *instanceWatch) Update(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	if _, known := w.objects[m.GetUID()]; !known {
		w.objects[m.GetUID()] = inspect.InstanceOf(w.gk, m).Key
		w.observer.components.enqueueAll(w.users)
	}
	return nil
}

// Delete removes an instance and enqueues the components that use this watch.
func (w *instanceWatch) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	delete(w.objects, m.GetUID())
	w.observer.components.enqueueAll(w.users)
	return nil
}

// Replace stores a complete list. If the list differs from the stored instances, Replace enqueues the components that
// use this watch.
func (w *instanceWatch) Replace(list []any, _ string) error {
	w.observer.mu.Lock()
	defer w.observer.mu.Unlock()
	old := w.objects
	w.objects = make(map[types.UID]manifests.Key, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		w.objects[m.GetUID()] = inspect.InstanceOf(w.gk, m).Key
	}
	if w.progress.synced() && !maps.Equal(old, w.objects) {
		w.observer.components.enqueueAll(w.users)
	}
	w.noteList()
	return nil
}

// Resync does nothing, because only watch events are handled.
func (w *instanceWatch) Resync() error { return nil }
