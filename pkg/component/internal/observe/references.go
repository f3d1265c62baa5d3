package observe

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// Reference names an object that is an input of a component; without a name, all objects there are. Without a namespace, these are all of the
// type.
type Reference struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

// References tells in which version objects exist that components depend on, and wakes those. It watches the metadata of a type in a
// namespace, or in all of them, as long as something there is used, and keeps no more than names, versions and owners of what is.
type References struct {
	lifetime   context.Context
	metadata   metadata.Interface
	reconciler string

	mu     sync.Mutex
	owners map[string]*referrer
	scopes map[scope]*referenced
}

// referrer is who uses objects, and as whom they are watched.
type referrer struct {
	viewer Viewer
	refs   []Reference
	// self is the owner id of the component whose dependents don't count, and read the versions that it has read. It is woken only where these
	// are not what there is; a referrer without them is woken by every change.
	self string
	read map[Reference]Version
	wake func()
}

// scope is a type in a namespace, as a viewer sees it.
type scope struct {
	viewer    string
	resource  schema.GroupVersionResource
	namespace string
}

func (ref Reference) scope(viewer Viewer) scope {
	return scope{viewer.Name, ref.Resource, ref.Namespace}
}

// NewReferences returns References whose watches live as long as ctx. The name is the reconciler's: it tells the dependents of components from
// other objects.
func NewReferences(ctx context.Context, m metadata.Interface, reconciler string) *References {
	return &References{lifetime: ctx, metadata: m, reconciler: reconciler, owners: map[string]*referrer{}, scopes: map[scope]*referenced{}}
}

// Retain says what an owner references, as whom it is watched, and how to wake the owner at each change. It replaces what the owner retained
// or followed before.
func (r *References) Retain(owner string, viewer Viewer, refs []Reference, wake func()) {
	r.enter(owner, &referrer{viewer: viewer, refs: refs, wake: wake})
}

// enter starts the watches that are missing, lets those that failed try again, and ends those that nobody needs any more.
func (r *References) enter(owner string, own *referrer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := r.owners[owner]
	r.owners[owner] = own
	for _, ref := range own.refs {
		s := ref.scope(own.viewer)
		if r.scopes[s] == nil {
			r.scopes[s] = r.start(own.viewer, s)
		}
		r.scopes[s].users[owner] = own
		r.scopes[s].retry()
	}
	r.leave(owner, former, own)
}

// Release forgets an owner.
func (r *References) Release(owner string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	former := r.owners[owner]
	delete(r.owners, owner)
	r.leave(owner, former, nil)
}

// leave takes an owner out of the scopes that it does not use any more. The caller holds the lock.
func (r *References) leave(owner string, former, current *referrer) {
	if former == nil {
		return
	}
	used := map[scope]bool{}
	if current != nil {
		for _, ref := range current.refs {
			used[ref.scope(current.viewer)] = true
		}
	}
	for _, ref := range former.refs {
		s := ref.scope(former.viewer)
		watched := r.scopes[s]
		if used[s] || watched == nil {
			continue
		}
		if delete(watched.users, owner); len(watched.users) == 0 {
			watched.cancel()
			delete(r.scopes, s)
		}
	}
}

// Failure says why nothing is known of objects; it is the zero value where something is.
type Failure struct {
	Message string
	// Forbidden says that it does not go away by itself, but when somebody grants a right.
	Forbidden bool
}

// Version returns the resource version of a reference that a viewer retains, "" where the object does not exist. known is false until its
// type was listed; failure says why that did not work.
func (r *References) Version(viewer Viewer, ref Reference) (version string, known bool, failure Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.scopes[ref.scope(viewer)]
	if s == nil {
		return "", false, Failure{}
	}
	return s.objects[objectName{ref.Namespace, ref.Name}].version, s.synced, s.failure
}

func (r *References) start(viewer Viewer, s scope) *referenced {
	ctx, cancel := context.WithCancel(r.lifetime)
	reader := r.metadata
	if viewer.Name != "" {
		reader = viewer.Metadata
	}
	w := newReferenced(r, s, cancel)
	go loop{
		source: func() (*cache.ListWatch, error) {
			return listWatch(reader.Resource(s.resource).Namespace(s.namespace), ""), nil
		},
		store: w, kick: w.kick, viewer: viewer, name: "referenced " + s.resource.Resource + " in " + s.namespace,
	}.run(ctx)
	return w
}
