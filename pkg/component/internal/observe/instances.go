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

// instances holds the names of all objects of a managed type, whoever they belong to. It lives while a deletion asks for it.
type instances struct {
	observer *Observer
	gk       schema.GroupKind
	cancel   context.CancelFunc
	kick     chan struct{}

	// users are the owners that must know the instances.
	users map[string]bool

	progress progress
	reason   plan.WaitReason
	message  string
	objects  map[types.UID]manifests.Key
}

// typeSight is a watch on all instances of a type, by the name of the viewer.
type typeSight struct {
	viewer string
	gk     schema.GroupKind
}

// RetainTypes says of which managed types an owner must know all instances, wherever they are; it is woken when these come or go. It replaces what the
// owner retained before.
func (o *Observer) RetainTypes(ownerID string, gks []schema.GroupKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return
	}
	former := own.types
	own.types = make(map[schema.GroupKind]bool, len(gks))
	for _, gk := range gks {
		s := typeSight{own.viewer.Name, gk}
		t := o.types[s]
		if t == nil {
			t = o.startInstances(own.viewer, gk)
			o.types[s] = t
		}
		own.types[gk], t.users[ownerID] = true, true
		t.retry()
	}
	for gk := range former {
		if !own.types[gk] {
			o.leaveType(ownerID, typeSight{own.viewer.Name, gk})
		}
	}
	o.watchDefinitions()
}

func (o *Observer) startInstances(viewer Viewer, gk schema.GroupKind) *instances {
	ctx, cancel := context.WithCancel(o.lifetime)
	t := &instances{
		observer: o, gk: gk, cancel: cancel, kick: make(chan struct{}, 1),
		reason: plan.WaitObserving, message: "its instances are listed for the first time",
		objects: map[types.UID]manifests.Key{}, users: map[string]bool{},
	}
	go loop{
		source: func() (*cache.ListWatch, error) { return o.source(viewer, Place{Type: gk}, "", "", true) },
		mapper: o.mapper, store: t, kick: t.kick, name: "instances of type " + gk.String(), viewer: viewer,
	}.run(ctx)
	return t
}

// Instances returns all objects of a managed type that a viewer retains. Where they are not known, reason and message say why; a type that is not
// served is reported with reason plan.WaitNotServed.
func (o *Observer) Instances(viewer Viewer, gk schema.GroupKind) (found []inspect.Instance, reason plan.WaitReason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.types[typeSight{viewer.Name, gk}]
	if t == nil {
		return nil, plan.WaitObserving, "its instances are not watched yet"
	}
	for uid, key := range t.objects {
		found = append(found, inspect.Instance{Key: key, UID: uid})
	}
	return found, t.reason, t.message
}

// used says that the watch goes on. The caller holds the lock.
func (t *instances) used() bool { return len(t.users) > 0 }

func (t *instances) retry() {
	if t.reason == plan.WaitNone {
		return
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

func (t *instances) failed(f listFailure) {
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	if t.progress.fail(f); t.progress.known() {
		f = listFailure{}
	}
	t.tell(f.reason, f.message)
}

// watched notes that a watch is open.
func (t *instances) watched() {
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	t.progress.watch = true
	t.settle()
}

// settle makes the type known as soon as it was listed and is watched. The caller holds the lock.
func (t *instances) settle() {
	if t.progress.known() {
		t.tell(plan.WaitNone, "")
	}
}

// tell says why nothing is known, and wakes all users when that changes.
func (t *instances) tell(reason plan.WaitReason, message string) {
	changed := t.reason != reason
	t.reason, t.message = reason, message
	if changed {
		t.observer.serves(t, reason)
		t.observer.wakeAll(t.users)
	}
}

// Add stores an instance and wakes those who ask for the type.
func (t *instances) Add(obj any) error { return t.Update(obj) }

// Update stores an instance; only one that is new wakes anybody.
func (t *instances) Update(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	if _, known := t.objects[m.GetUID()]; !known {
		t.objects[m.GetUID()] = inspect.InstanceOf(t.gk, m).Key
		t.observer.wakeAll(t.users)
	}
	return nil
}

// Delete removes an instance and wakes those who ask for the type.
func (t *instances) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	delete(t.objects, m.GetUID())
	t.observer.wakeAll(t.users)
	return nil
}

// Replace takes over a complete list.
func (t *instances) Replace(list []any, _ string) error {
	t.observer.mu.Lock()
	defer t.observer.mu.Unlock()
	old := t.objects
	t.objects = make(map[types.UID]manifests.Key, len(list))
	for _, obj := range list {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		t.objects[m.GetUID()] = inspect.InstanceOf(t.gk, m).Key
	}
	if t.progress.known() && !maps.Equal(old, t.objects) {
		t.observer.wakeAll(t.users)
	}
	t.progress.list = true
	t.settle()
	return nil
}

// Resync does nothing: nothing is polled.
func (t *instances) Resync() error { return nil }
