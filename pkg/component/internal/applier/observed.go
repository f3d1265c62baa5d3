package applier

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/target"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// readObjects are the facts about the observed objects of an owner, as they were read last. They are valid for the
// connection and the user that read them.
type readObjects struct {
	connection *target.Connection
	user       string
	objects    map[manifests.Key]*plan.Observed
}

// observed returns the state of the objects that a component only observes. The metadata of these objects is watched.
// Such an object is Unknown with the reason WaitUnwatched if it has to be read: it changed since it was read last, it
// cannot be watched, or its absence has to be confirmed. ok is false while the first list of a watch is not complete;
// Request.Wake is called when the list is complete.
func (a *Applier) observed(client *target.Client, r Request) (states plan.Snapshot, ok bool) {
	name := observe.ObservedBy(r.Owner.ID())
	wanted := observedObjects(r.Desired)
	if len(wanted) == 0 {
		client.Awaited.Release(name)
		a.state.keepRead(r.Owner.ID(), nil)
		return nil, true
	}
	states = plan.Snapshot{}
	refs := map[manifests.Key]observe.Reference{}
	for i := range wanted {
		ref, err := referenceTo(client, wanted[i])
		if err != nil {
			states[wanted[i].Key] = &plan.Observed{Presence: plan.Unknown, Reason: plan.WaitListFailed, Message: err.Error()}
			continue
		}
		refs[wanted[i].Key] = ref
	}
	client.Awaited.Watch(name, client.Reader, slices.Collect(maps.Values(refs)), r.Wake)
	read := a.state.readBy(r.Owner.ID(), client)
	for key, ref := range refs {
		version, known, failure := client.Awaited.Version(client.Reader, ref)
		switch {
		case failure != (observe.Failure{}):
			states[key] = unread("its type cannot be watched")
		case !known:
			return nil, false
		default:
			states[key] = stateOf(client, version, read[key])
		}
	}
	return states, true
}

// stateOf returns the state of an observed object with the version that its watch shows, which is empty if the watch
// does not show it. read is the state that was read last, and may be nil. A watch with other rights than the client is
// not enough for an absent object: a component must not learn whether an object exists that it may not read.
func stateOf(client *target.Client, version string, read *plan.Observed) *plan.Observed {
	ownWatch := client.User == "" || client.Reader.Name != ""
	switch {
	case version == "" && ownWatch:
		return &plan.Observed{Presence: plan.Absent, Confirmed: true}
	case read != nil && read.ResourceVersion == version: // The version of an absent object is empty, too.
		return read
	}
	state := unread("it was not read since it changed")
	state.ResourceVersion = version
	return state
}

// observedObjects returns the objects of an apply set that are only observed, and whose types are served.
func observedObjects(desired []manifests.Object) []manifests.Object {
	var found []manifests.Object
	for _, o := range desired {
		if o.Settings.IsObserved() && o.Scope != manifests.ScopeUnknown && !o.Key.IsExternal() {
			found = append(found, o)
		}
	}
	return found
}

func referenceTo(client *target.Client, o manifests.Object) (observe.Reference, error) {
	mapper := client.Discovery.Mapper()
	mapping, err := mapper.RESTMapping(o.Key.GroupKind(), o.Version)
	if meta.IsNoMatchError(err) {
		mapping, err = mapper.RESTMapping(o.Key.GroupKind())
	}
	if err != nil {
		return observe.Reference{}, err
	}
	return observe.Reference{Resource: mapping.Resource, Namespace: o.Key.Namespace, Name: o.Key.Name}, nil
}

func unread(message string) *plan.Observed {
	return &plan.Observed{Presence: plan.Unknown, Reason: plan.WaitUnwatched, Message: message}
}

// keepObserved keeps the facts about the observed objects that a pass read, so that later passes do not read them
// again.
func (a *Applier) keepObserved(client *target.Client, f plan.Facts) {
	if len(f.Observed) == 0 {
		return
	}
	read := &readObjects{connection: client.Connection, user: client.User, objects: map[manifests.Key]*plan.Observed{}}
	for key := range f.Observed {
		if live := f.Live[key]; live != nil && live.Presence != plan.Unknown {
			read.objects[key] = live
		}
	}
	a.state.keepRead(f.Owner, read)
}

// readBy returns the facts about the observed objects of an owner that a client read.
func (m *state) readBy(ownerID string, client *target.Client) map[manifests.Key]*plan.Observed {
	m.mu.Lock()
	defer m.mu.Unlock()
	read := m.owners[ownerID].read
	if read == nil || read.connection != client.Connection || read.user != client.User {
		return nil
	}
	return read.objects
}

// keepRead replaces the facts about the observed objects of an owner.
func (m *state) keepRead(ownerID string, read *readObjects) {
	m.change(ownerID, func(own *ownerState) { own.read = read })
}
