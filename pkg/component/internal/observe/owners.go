package observe

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// owner is a component: as whom and where it watches, and how to wake it.
type owner struct {
	viewer Viewer
	places map[Place]string
	types  map[schema.GroupKind]bool
	// awaits are the objects that the owner wants, and who else has them; see Await.
	awaits map[manifests.Key]string
	wake   func()
}

// Retain says where an owner has dependents, each place with the version to prefer of the type, as whom they are watched, and how to wake the
// owner. It replaces what the owner retained before. Watches are started where they are missing and stopped where nobody needs them any
// more; those that failed try again now.
func (o *Observer) Retain(ownerID string, viewer Viewer, places map[Place]string, wake func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own != nil && own.viewer.Name != viewer.Name {
		// What another identity saw counts no more, be it the same.
		o.release(ownerID, own)
		own = nil
	}
	if own == nil {
		own = &owner{}
		o.owners[ownerID] = own
	}
	own.viewer, own.wake = viewer, wake
	for p, version := range places {
		k := o.kinds[p][viewer.Name]
		if k == nil {
			k = o.startKind(viewer, p, version)
			o.kinds.enter(viewer.Name, p, k)
		}
		k.version, k.users[ownerID] = version, true
		k.retry()
	}
	o.keep(ownerID, places)
}

// Keep says which of the places that an owner retained it uses on. It starts no watch, and makes none try again.
func (o *Observer) Keep(ownerID string, places map[Place]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners[ownerID] != nil {
		o.keep(ownerID, places)
	}
}

// keep stops the watches that an owner used and nobody uses any more. The caller holds the lock.
func (o *Observer) keep(ownerID string, places map[Place]string) {
	own := o.owners[ownerID]
	former := own.places
	own.places = places
	for p := range former {
		if _, uses := places[p]; !uses {
			o.leaveKind(ownerID, own.viewer, p)
		}
	}
	o.watchDefinitions()
}

// Release forgets an owner.
func (o *Observer) Release(ownerID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return
	}
	o.release(ownerID, own)
	o.left(ownerID)
	o.watchDefinitions()
}

// release forgets an owner. The caller holds the lock.
func (o *Observer) release(ownerID string, own *owner) {
	delete(o.owners, ownerID)
	for key := range own.awaits {
		o.stopAwaiting(ownerID, key)
	}
	for p := range own.places {
		o.leaveKind(ownerID, own.viewer, p)
	}
	for gk := range own.types {
		o.leaveType(ownerID, typeSight{own.viewer.Name, gk})
	}
}

// leaveKind stops a watch when its last user leaves. The caller holds the lock.
func (o *Observer) leaveKind(ownerID string, viewer Viewer, p Place) {
	k := o.kinds[p][viewer.Name]
	if delete(k.users, ownerID); len(k.users) == 0 {
		k.cancel()
		o.kinds.drop(viewer.Name, p)
		delete(o.unserved, k)
	}
}

// leaveType stops the watch on all instances of a type when its last user leaves. The caller holds the lock.
func (o *Observer) leaveType(ownerID string, s typeSight) {
	t := o.types[s]
	if delete(t.users, ownerID); len(t.users) == 0 {
		t.cancel()
		delete(o.types, s)
		delete(o.unserved, t)
	}
}

func (o *Observer) wake(ownerID string) {
	if own := o.owners[ownerID]; own != nil {
		own.wake()
	}
}

func (o *Observer) wakeAll(users map[string]bool) {
	for ownerID := range users {
		o.wake(ownerID)
	}
}
