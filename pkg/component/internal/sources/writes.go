package sources

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// writes are the writes in flight, by object. The lock of the Related guards them.
type writes map[client.ObjectKey]*write

// write is the state of the writes in flight to one object.
type write struct {
	// by counts the writes in flight by component.
	by map[types.NamespacedName]int
	// pending are the passes that wait for the end of the writes: the versions that would start them.
	pending map[types.NamespacedName][]string
}

// begin notes that a component writes an object.
func (w writes) begin(key client.ObjectKey, name types.NamespacedName) {
	of := w[key]
	if of == nil {
		of = &write{by: map[types.NamespacedName]int{}, pending: map[types.NamespacedName][]string{}}
		w[key] = of
	}
	of.by[name]++
}

// hold delays a pass over a component until the response of its write tells whether the write caused a version of the
// object. The version is empty if the object was deleted. hold returns false if the component is not writing the
// object.
func (w writes) hold(key client.ObjectKey, name types.NamespacedName, version string) bool {
	of := w[key]
	if of == nil || of.by[name] == 0 {
		return false
	}
	of.pending[name] = append(of.pending[name], version)
	return true
}

// end notes that a component wrote an object. It returns the versions whose passes were delayed.
func (w writes) end(key client.ObjectKey, name types.NamespacedName) (pending []string) {
	of := w[key]
	of.by[name]--
	if of.by[name] == 0 {
		delete(of.by, name)
	}
	pending = of.pending[name]
	delete(of.pending, name)
	if len(of.by) == 0 {
		delete(w, key)
	}
	return pending
}

// Write calls send, which writes a related object on behalf of a component and stores the response in obj. The event of
// this write does not start a pass over the component. Get returns the response from then on.
func (r *Related) Write(
	ctx context.Context, name types.NamespacedName, obj client.Object, send func(context.Context) error,
) error {
	key := client.ObjectKeyFromObject(obj)
	i, err := r.beginWrite(name, key)
	if err != nil {
		return err
	}
	before := obj.GetResourceVersion()
	err = send(ctx)
	if i == nil {
		return err
	}
	var written *object
	if err == nil && obj.GetResourceVersion() != before {
		// If a function of the author fails with the response, written stays nil, and the event of the write wakes the
		// component.
		if response, failed := i.convert.ofResponse(obj); failed == nil {
			written = response
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i.endWrite(name, key, written)
	return err
}

// beginWrite begins a write, and returns the informer of the component; nil if it has none. An object in a namespace
// that is not watched is an error, because its later changes would not be seen.
func (r *Related) beginWrite(name types.NamespacedName, key client.ObjectKey) (*informer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.users[name]
	if u == nil || u.informer == nil {
		return nil, nil
	}
	if err := u.informer.checkNamespaces(key); err != nil {
		return nil, err
	}
	u.informer.writes.begin(key, name)
	if o := u.informer.objects[key]; o != nil && o.compared.isUnread {
		u.informer.writes.hold(key, name, o.version()) // A change by another client, which is not compared yet.
	}
	return u.informer, nil
}

// endWrite ends a write. written is nil if the result is not known. The caller holds the lock.
func (i *informer) endWrite(name types.NamespacedName, key client.ObjectKey, written *object) {
	for _, version := range i.writes.end(key, name) {
		if written == nil || version != written.version() {
			i.related.host.Wake(name)
		}
	}
	if written == nil {
		return
	}
	if stored := i.objects[key]; stored != nil && stored.meta.UID == written.meta.UID &&
		inspect.Newer(stored.version(), written.version()) {
		return
	}
	i.put(written, name)
}
