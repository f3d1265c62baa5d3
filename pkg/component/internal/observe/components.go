package observe

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// component is the state that the Observer stores for one component.
type component struct {
	reader Reader
	// resources are the watched resources that contain the component's dependents, each with the preferred version of the
	// type.
	resources map[WatchedResource]string
	// instances is the set of types that the component's dependents define, and whose instances are watched.
	instances map[schema.GroupKind]bool
	// awaits are the objects that the component waits for, with their current owners; see AwaitHandover.
	awaits  map[manifests.Key]Owner
	enqueue func()
}

// components holds the state of each component that an Observer watches dependents for, by owner id.
type components map[string]*component

// enqueue adds a component to the queue of components to reconcile. It ignores an unknown owner id.
func (c components) enqueue(ownerID string) {
	if known := c[ownerID]; known != nil {
		known.enqueue()
	}
}

func (c components) enqueueAll(ownerIDs map[string]bool) {
	for ownerID := range ownerIDs {
		c.enqueue(ownerID)
	}
}

// Watch sets the resources whose dependents are watched for a component. It starts missing watches, retries failed
// watches, and stops the component's watches on all other resources. The values of resources are the preferred versions
// of the types. The watches use the identity of the reader. Whenever a dependent changed, the function enqueue is
// called with the Observer's lock held; it must not block or call the Observer.
func (o *Observer) Watch(ownerID string, reader Reader, resources map[WatchedResource]string, enqueue func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c != nil && c.reader.Name != reader.Name {
		// The component must not use objects that its previous identity has read. The new identity reads all objects
		// again.
		o.remove(ownerID, c)
		c = nil
	}
	if c == nil {
		c = &component{}
		o.components[ownerID] = c
	}
	c.reader, c.enqueue = reader, enqueue
	for r, version := range resources {
		w := o.dependents.watch(reader, r)
		if w == nil {
			w = o.startDependentWatch(reader, r, version)
			o.dependents.add(reader, r, w)
		}
		w.version, w.users[ownerID] = version, true
		w.retryNow()
	}
	o.stopUnused(ownerID, c, resources)
}

// StopWatchesExcept stops the watches of a component on resources that the argument does not contain. It neither starts
// nor retries a watch.
func (o *Observer) StopWatchesExcept(ownerID string, resources map[WatchedResource]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.components[ownerID]; c != nil {
		o.stopUnused(ownerID, c, resources)
	}
}

// stopUnused replaces the watched resources of a component, and stops the watches that no component uses any more. The
// caller holds the lock.
func (o *Observer) stopUnused(ownerID string, c *component, resources map[WatchedResource]string) {
	previous := c.resources
	c.resources = resources
	for r := range previous {
		if _, used := resources[r]; !used {
			o.removeDependentUser(ownerID, c.reader, r)
		}
	}
	o.definitions.update()
}

// Release removes a component from the Observer and stops the watches that only this component used. If other
// components wait for an object of the released component, Release starts the delay after which they try to take the
// object over.
func (o *Observer) Release(ownerID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.components[ownerID]
	if c == nil {
		return
	}
	o.remove(ownerID, c)
	for key, h := range o.handovers {
		if h.owner.ID == ownerID {
			h.scheduleAll(o, key)
		}
	}
	o.definitions.update()
}

// remove removes a component from the Observer and stops the watches that no component uses any more. The caller holds
// the lock.
func (o *Observer) remove(ownerID string, c *component) {
	delete(o.components, ownerID)
	for key := range c.awaits {
		o.stopAwaiting(ownerID, key)
	}
	for r := range c.resources {
		o.removeDependentUser(ownerID, c.reader, r)
	}
	for gk := range c.instances {
		o.removeInstanceUser(ownerID, instanceWatchKey{c.reader.Name, gk})
	}
}

// removeDependentUser notes that a component no longer uses a watch on dependents, and stops the watch if no component
// uses it. The caller holds the lock.
func (o *Observer) removeDependentUser(ownerID string, reader Reader, r WatchedResource) {
	w := o.dependents.watch(reader, r)
	if delete(w.users, ownerID); len(w.users) == 0 {
		w.cancel()
		o.dependents.remove(reader, r)
		o.definitions.forget(&w.watchState)
	}
}

// removeInstanceUser notes that a component no longer uses a watch on instances, and stops the watch if no component
// uses it. The caller holds the lock.
func (o *Observer) removeInstanceUser(ownerID string, key instanceWatchKey) {
	w := o.instances[key]
	if delete(w.users, ownerID); len(w.users) == 0 {
		w.cancel()
		delete(o.instances, key)
		o.definitions.forget(&w.watchState)
	}
}
