package sources

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	if o := i.objects[key]; o != nil && o.version() == read.version() {
		o.body, o.touched = read.body, time.Now()
	}
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

// read reads an object that is not in memory, and stores its body. All callers that know the same version of the object
// share one request, so a change costs one request for all components. The request does not end with the context of a
// caller. The result is a copy, and its body is read-only.
func (i *informer) read(ctx context.Context, key client.ObjectKey) (*object, error) {
	// A request that began before a newer version was known must not be shared, because it may return an older one.
	flight := i.reads.DoChan(key.String()+" "+i.versionOf(key), func() (any, error) {
		if o := i.inMemory(key); o != nil {
			return o, nil // An earlier request ended after the caller looked.
		}
		bound, cancel := context.WithTimeout(i.run, DefaultTimeout)
		defer cancel()
		o, err := i.request(bound, key)
		if err != nil {
			return nil, err
		}
		i.related.mu.Lock()
		defer i.related.mu.Unlock()
		i.keep(key, o)
		copied := *o
		return &copied, nil
	})
	select {
	case result := <-flight:
		o, _ := result.Val.(*object)
		return o, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// versionOf returns the resource version of an object, empty if it is not known.
func (i *informer) versionOf(key client.ObjectKey) string {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	if o := i.objects[key]; o != nil {
		return o.version()
	}
	return ""
}

// inMemory returns a copy of an object whose body is in memory, nil for other objects.
func (i *informer) inMemory(key client.ObjectKey) *object {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	if o := i.objects[key]; o != nil && o.body != nil {
		copied := *o
		return &copied
	}
	return nil
}

// request sends the request for an object. An object that the selector does not select any more is not found.
func (i *informer) request(ctx context.Context, key client.ObjectKey) (*object, error) {
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
	selector, err := labels.Parse(i.related.options.Selector)
	if err != nil {
		return nil, err
	}
	if !selector.Matches(labels.Set(live.GetLabels())) {
		return nil, i.notFound(key)
	}
	o, err := i.reduce(live)
	if err == nil {
		o.touched = time.Now()
	}
	return o, err
}

func (i *informer) notFound(key client.ObjectKey) error {
	gvk := i.related.options.GVK
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.String())
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
		return "", i.notFound(key)
	case digest != "":
		return digest, nil
	}
	read, err := i.read(ctx, key)
	if err != nil {
		return "", err
	}
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
	if o := u.informer.objects[key]; o != nil && o.unread {
		w.hold(name, o) // A change by another client, which is not compared yet.
	}
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
	var err error
	if i.related.options.MetadataOnly {
		o.digest, err = i.digestOfBody(o.meta)
		return o, err
	}
	if o.digest, err = i.digestOfBody(copied); err != nil {
		return nil, err
	}
	o.body = copied
	o.components, err = i.componentsOf(copied)
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
