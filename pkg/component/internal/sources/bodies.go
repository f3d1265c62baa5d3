package sources

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// evictions is the number of times in an idle time at which bodies are dropped.
const evictions = 8

// body returns an object, from memory or by one request. The result is read-only.
func (i *informer) body(ctx context.Context, key client.ObjectKey) (client.Object, error) {
	if obj := i.kept(key); obj != nil {
		return obj, nil
	}
	read, err := i.read(ctx, key)
	if err != nil {
		return nil, err
	}
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	i.keep(key, read)
	return read.body, nil
}

// kept returns an object if its current version is in memory, and notes that it is wanted.
func (i *informer) kept(key client.ObjectKey) client.Object {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	o := i.objects[key]
	switch {
	case o == nil:
		return nil
	case i.related.options.MetadataOnly:
		return o.meta
	case o.body == nil:
		return nil
	}
	o.touched = time.Now()
	return o.body
}

// read reads an object.
func (i *informer) read(ctx context.Context, key client.ObjectKey) (*object, error) {
	gvk := i.related.options.GVK
	mapping, err := i.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	live, err := i.cluster.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace).
		Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	o, err := i.reduce(live)
	if err == nil {
		o.touched = time.Now()
	}
	return o, err
}

// keep stores the body of an object that was read. If the watch has not shown this version yet, the event of this
// version wakes the components. The caller holds the lock.
func (i *informer) keep(key client.ObjectKey, read *object) {
	stored := i.objects[key]
	if stored != nil && stored.version() == read.version() {
		stored.body, stored.digest, stored.touched = read.body, read.digest, read.touched
	}
}

// digest returns the digest of the part of an object that counts. It reads the object if its digest is not known.
func (i *informer) digest(ctx context.Context, key client.ObjectKey) (string, error) {
	i.related.mu.Lock()
	o, digest := i.objects[key], ""
	if o != nil {
		digest = o.digest
	}
	i.related.mu.Unlock()
	switch {
	case o == nil:
		return "", apierrors.NewNotFound(schema.GroupResource{Group: i.related.options.GVK.Group, Resource: i.related.options.GVK.Kind}, key.String())
	case digest != "":
		return digest, nil
	case i.related.options.MetadataOnly:
		part, err := i.related.partOf(ctx, o.meta)
		if err != nil {
			return "", err
		}
		return digestOf(part)
	}
	read, err := i.read(ctx, key)
	if err != nil {
		return "", err
	}
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	i.keep(key, read)
	return read.digest, nil
}

// evictUntilEnd drops bodies that were not touched for the idle time, until ctx ends.
func (r *Related) evictUntilEnd(ctx context.Context) {
	ticker := time.NewTicker(max(r.options.Idle/evictions, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.evict(time.Now())
		}
	}
}

// evict drops bodies that were not touched for the idle time.
func (r *Related) evict(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.informers {
		for _, o := range i.objects {
			if o.body != nil && now.Sub(o.touched) > r.options.Idle {
				o.body = nil
			}
		}
	}
}

// write is the state of the writes in flight to one object.
type write struct {
	// by counts the writes in flight by component.
	by map[types.NamespacedName]int
	// pending are the passes that wait for the end of the writes: the versions that would start them.
	pending map[types.NamespacedName][]string
}

// hold keeps a pass until the response of a write tells whether the write caused the event.
func (w *write) hold(name types.NamespacedName, after *object) {
	version := ""
	if after != nil {
		version = after.version()
	}
	w.pending[name] = append(w.pending[name], version)
}

// Write calls send, which writes a related object on behalf of a component and stores the response in obj. The event of
// this write does not start a pass over the component. Get returns the response from then on.
func (r *Related) Write(
	ctx context.Context, name types.NamespacedName, obj client.Object, send func(context.Context) error,
) error {
	key := client.ObjectKeyFromObject(obj)
	i := r.beginWrite(name, key)
	before := obj.GetResourceVersion()
	err := send(ctx)
	if i == nil {
		return err
	}
	var written *object
	if err == nil && obj.GetResourceVersion() != before {
		written, _ = i.ofResponse(obj)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i.endWrite(name, key, written)
	return err
}

// beginWrite begins a write, and returns the informer of the component; nil if it has none.
func (r *Related) beginWrite(name types.NamespacedName, key client.ObjectKey) *informer {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.users[name]
	if u == nil || u.informer == nil {
		return nil
	}
	w := u.informer.writes[key]
	if w == nil {
		w = &write{by: map[types.NamespacedName]int{}, pending: map[types.NamespacedName][]string{}}
		u.informer.writes[key] = w
	}
	w.by[name]++
	return u.informer
}

// ofResponse returns the stored form of the response of a write.
func (i *informer) ofResponse(obj client.Object) (*object, error) {
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, nil
	}
	copied.SetManagedFields(nil)
	o := &object{meta: metadataOf(i.related.options.GVK, copied), touched: time.Now()}
	if i.related.options.MetadataOnly {
		return o, nil
	}
	var err error
	if o.digest, err = i.digestOfBody(copied); err != nil {
		return nil, err
	}
	o.body = copied
	if i.related.options.For != nil {
		err = contain(i.related.run, func(context.Context) error {
			o.components = append(o.components, i.related.options.For(copied)...)
			return nil
		})
	}
	return o, err
}

// endWrite ends a write. written is nil if the result is not known. The caller holds the lock.
func (i *informer) endWrite(name types.NamespacedName, key client.ObjectKey, written *object) {
	w := i.writes[key]
	w.by[name]--
	if w.by[name] == 0 {
		delete(w.by, name)
	}
	pending := w.pending[name]
	delete(w.pending, name)
	if len(w.by) == 0 {
		delete(i.writes, key)
	}
	for _, version := range pending {
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
