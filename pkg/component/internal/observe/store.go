package observe

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// seen is an object as it travels from the reflector to the store: its facts and its name.
type seen struct {
	plan.Observed
	namespace, name string
	// body is set where the kind is kept whole.
	body *unstructured.Unstructured
}

// GetObjectMeta lets the reflector find the name.
func (s *seen) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}
}

// Transformer reduces objects as soon as they arrive.
func (k *kind) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return k.reduce(obj), nil }
}

func (k *kind) reduce(obj any) *seen {
	switch x := obj.(type) {
	case *seen:
		return x
	case *unstructured.Unstructured:
		s := &seen{Observed: inspect.Object(x, k.observer.reconciler), namespace: x.GetNamespace(), name: x.GetName()}
		if k.whole {
			s.body = x
		}
		return s
	case metav1.Object:
		return &seen{Observed: inspect.Metadata(x, k.observer.reconciler), namespace: x.GetNamespace(), name: x.GetName()}
	}
	return nil
}

func (k *kind) key(s *seen) manifests.Key {
	return manifests.Key{Group: k.place.Type.Group, Kind: k.place.Type.Kind, Namespace: s.namespace, Name: s.name}
}

// Add stores an object and wakes its owner.
func (k *kind) Add(obj any) error { return k.Update(obj) }

// Update stores an object and wakes its owner, and the one it had before.
func (k *kind) Update(obj any) error {
	s := k.reduce(obj)
	if s == nil {
		return nil
	}
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	k.put(k.key(s), s)
	return nil
}

func (k *kind) put(key manifests.Key, s *seen) {
	if k.isDeleted(key, s.UID) {
		return
	}
	defer k.keep(key, s)
	old, o := k.records[key], s.Observed
	if old != nil && !inspect.Newer(o.ResourceVersion, old.ResourceVersion) {
		return
	}
	k.records[key] = &o
	k.event(key, pendingEvent{owner: o.Owner, resourceVersion: o.ResourceVersion})
	if old != nil && old.Owner != o.Owner {
		k.event(key, pendingEvent{owner: old.Owner, resourceVersion: o.ResourceVersion})
	}
}

// learn enters the answer of our own read or write. It is as good as an event, and wakes nobody but the owner that lost the object.
func (k *kind) learn(key manifests.Key, o plan.Observed) {
	old := k.records[key]
	switch {
	case o.Presence == plan.Absent:
		if old != nil && (o.UID == "" || o.UID == old.UID) {
			k.drop(key)
			k.deleted[key] = old.UID
		}
	case o.Presence == plan.Present && (old == nil || !inspect.Newer(old.ResourceVersion, o.ResourceVersion)):
		k.records[key] = &o
		if old != nil && old.Owner != o.Owner {
			k.observer.wake(old.Owner)
		}
	}
}

// Delete removes an object and wakes its owner. Of one that went because its work was done, that much is remembered.
func (k *kind) Delete(obj any) error {
	s := k.reduce(obj)
	if s == nil {
		return nil
	}
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	key := k.key(s)
	k.ended(key, s.UID)
	if old := k.records[key]; old != nil && old.UID == s.UID && !inspect.Newer(old.ResourceVersion, s.ResourceVersion) {
		k.drop(key)
		if s.Finished {
			k.remember(key, &s.Observed)
		}
		k.event(key, pendingEvent{owner: old.Owner, resourceVersion: s.ResourceVersion, removal: true})
	}
	return nil
}

// finishedLife is how long it is remembered of an object that its work was done when it went. The pass that its end wakes records it; the
// time is for passes that fail, or are suspended.
const finishedLife = time.Hour

func (k *kind) remember(key manifests.Key, o *plan.Observed) {
	o.Presence = plan.Absent
	k.records[key] = o
	time.AfterFunc(finishedLife, func() {
		k.observer.mu.Lock()
		defer k.observer.mu.Unlock()
		if k.records[key] == o {
			delete(k.records, key)
		}
	})
}

// Replace takes over a complete list. What it does not name is gone, unless we wrote it after the list was made.
func (k *kind) Replace(list []any, resourceVersion string) error {
	k.observer.mu.Lock()
	defer k.observer.mu.Unlock()
	listed := make(map[manifests.Key]bool, len(list))
	for _, obj := range list {
		if s := k.reduce(obj); s != nil {
			listed[k.key(s)] = true
			k.put(k.key(s), s)
		}
	}
	k.missed(listed, resourceVersion)
	for key, old := range k.records {
		if !listed[key] && !inspect.Newer(old.ResourceVersion, resourceVersion) {
			k.drop(key)
			k.event(key, pendingEvent{owner: old.Owner, resourceVersion: resourceVersion, removal: true})
		}
	}
	k.progress.list = true
	k.settle()
	return nil
}

// Resync does nothing: nothing is polled.
func (k *kind) Resync() error { return nil }
