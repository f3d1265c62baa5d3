package observe

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// Reference identifies an object that a component depends on. If Name is empty, it identifies all objects of the
// resource in the namespace. If Name and Namespace are empty, it identifies all objects of the resource in the cluster.
type Reference struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

// References watches the metadata of objects that components depend on, and enqueues those components when the objects
// change. There is one watch per resource, namespace and reader, as long as a component uses it. A watch stores the
// names, versions and owners of objects, nothing else. References is safe for concurrent use.
type References struct {
	lifetime   context.Context
	metadata   metadata.Interface
	reconciler string

	// mu protects the fields below and all watches.
	mu        sync.Mutex
	referrers map[string]*referrer
	watches   map[referenceWatchKey]*referenceWatch
}

// referrer is a component that depends on objects.
type referrer struct {
	reader Reader
	refs   []Reference
	// ownerID is the owner id of the component. read has the versions that the component has read. The component is
	// enqueued only if these versions differ from the current versions. Changes of the component's own dependents are
	// ignored. If read is nil, the component is enqueued at each change.
	ownerID string
	read    map[Reference]Version
	enqueue func()
}

// referenceWatchKey identifies a watch: the name of the reader, the resource, and the namespace or "" for all.
type referenceWatchKey struct {
	reader    string
	resource  schema.GroupVersionResource
	namespace string
}

func (ref Reference) watchKey(reader Reader) referenceWatchKey {
	return referenceWatchKey{reader.Name, ref.Resource, ref.Namespace}
}

// NewReferences returns References whose watches end with ctx. The name of the reconciler distinguishes the
// dependents of its components from other objects.
func NewReferences(ctx context.Context, client metadata.Interface, reconciler string) *References {
	return &References{
		lifetime: ctx, metadata: client, reconciler: reconciler,
		referrers: map[string]*referrer{}, watches: map[referenceWatchKey]*referenceWatch{},
	}
}

// Watch sets the references of a component. It starts missing watches, retries failed watches, and stops the
// component's other watches. The function enqueue is called at each change, with the lock of References held; it must
// not block or call References. The watches use the identity of the reader. The name is any string that identifies the
// component. A later call of Watch or WatchVersions with the same name replaces the references.
func (r *References) Watch(name string, reader Reader, refs []Reference, enqueue func()) {
	r.replace(name, &referrer{reader: reader, refs: refs, enqueue: enqueue})
}

func (r *References) replace(name string, current *referrer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous := r.referrers[name]
	r.referrers[name] = current
	for _, ref := range current.refs {
		key := ref.watchKey(current.reader)
		if r.watches[key] == nil {
			r.watches[key] = r.startWatch(current.reader, key)
		}
		r.watches[key].users[name] = current
		r.watches[key].retryNow()
	}
	r.stopUnused(name, previous, current)
}

// Release removes a component and stops the watches that only the component used.
func (r *References) Release(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous := r.referrers[name]
	delete(r.referrers, name)
	r.stopUnused(name, previous, nil)
}

// stopUnused stops the watches that a component used and does not use any more, unless another component uses them. The
// caller holds the lock.
func (r *References) stopUnused(name string, previous, current *referrer) {
	if previous == nil {
		return
	}
	used := map[referenceWatchKey]bool{}
	if current != nil {
		for _, ref := range current.refs {
			used[ref.watchKey(current.reader)] = true
		}
	}
	for _, ref := range previous.refs {
		key := ref.watchKey(previous.reader)
		w := r.watches[key]
		if used[key] || w == nil {
			continue
		}
		if delete(w.users, name); len(w.users) == 0 {
			w.cancel()
			delete(r.watches, key)
		}
	}
}

// Failure is the reason why the state of a reference is not known. It is the zero value if no request failed.
type Failure struct {
	Message string
	// Forbidden is set if the reader lacks a right.
	Forbidden bool
}

// Version returns the resource version of a referenced object according to the watch of a reader, or "" if the object
// does not exist. The result known is false until the watch is in sync. If the list or the watch failed, failure is the
// reason.
func (r *References) Version(reader Reader, ref Reference) (version string, known bool, failure Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watches[ref.watchKey(reader)]
	if w == nil {
		return "", false, Failure{}
	}
	return w.objects[objectName{ref.Namespace, ref.Name}].version, w.synced, w.failure
}

// startWatch starts a watch with the identity of a reader. The caller holds the lock.
func (r *References) startWatch(reader Reader, key referenceWatchKey) *referenceWatch {
	ctx, cancel := context.WithCancel(r.lifetime)
	client := r.metadata
	if reader.Name != "" {
		client = reader.Metadata
	}
	w := newReferenceWatch(r, key, cancel)
	go reflectorLoop{
		requests: func() (*cache.ListWatch, error) {
			return listWatchMetadata(client.Resource(key.resource).Namespace(key.namespace), ""), nil
		},
		store: w, listener: w, retry: w.retrySignal, reader: reader,
		name: "referenced " + key.resource.Resource + " in " + key.namespace,
	}.run(ctx)
	return w
}

// ObservedBy returns the name under which References watches the objects that a component only observes.
func ObservedBy(ownerID string) string { return ownerID + " observes" }
