package sources

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// evictions is the number of times in an idle time at which bodies are dropped.
const evictions = 8

// copied returns a copy of an object, from memory or by one request.
func (i *informer) copied(ctx context.Context, key client.ObjectKey) (client.Object, error) {
	obj, err := i.body(ctx, key)
	if err != nil {
		return nil, err
	}
	return copyOf(obj)
}

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

// digest returns the digest of the part of an object that counts. It reads the object if its digest is not known.
func (i *informer) digest(ctx context.Context, key client.ObjectKey) (string, error) {
	o := i.known(key)
	switch {
	case o == nil:
		return "", i.reader.notFound(key)
	case !o.needsRead():
		return o.digest, i.reader.named(key, o.partErr)
	}
	read, err := i.read(ctx, key)
	if err != nil {
		return "", err
	}
	return read.digest, i.reader.named(key, read.partErr)
}

// known returns a copy of the stored form of an object; nil if the object is not known.
func (i *informer) known(key client.ObjectKey) *object {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	o := i.objects[key]
	if o == nil {
		return nil
	}
	copied := *o
	return &copied
}

// read reads an object that is not in memory, and stores its body. All callers that know the same version of the object
// share one request, so a change costs one request for all components. The request does not end with the context of a
// caller. The result is a copy, and its body is read-only. The error names the object.
func (i *informer) read(ctx context.Context, key client.ObjectKey) (*object, error) {
	// A request that began before a newer version was known must not be shared, because it may return an older one.
	flight := i.reads.DoChan(key.String()+" "+i.known(key).version(), func() (any, error) {
		if o := i.known(key); o != nil && o.body != nil {
			return o, nil // An earlier request ended after the caller looked.
		}
		bound, cancel := context.WithTimeout(i.run, DefaultTimeout)
		defer cancel()
		o, err := i.reader.request(bound, key)
		if err != nil {
			return nil, err
		}
		i.related.mu.Lock()
		defer i.related.mu.Unlock()
		i.storeRead(key, o)
		copied := *o
		return &copied, nil
	})
	o, err := (*object)(nil), error(nil)
	select {
	case result := <-flight:
		o, _ = result.Val.(*object)
		err = result.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, i.reader.named(key, err)
	}
	return o, nil
}

// readLater requests that an object is read, to compare it. The caller holds the lock.
func (i *informer) readLater(key client.ObjectKey) {
	if i.comparison.request(key) {
		go i.readRequested()
	}
}

// readRequested reads objects until no request is left.
func (i *informer) readRequested() {
	for {
		key, version, found := i.nextRequested()
		if !found {
			return
		}
		_, err := i.read(i.run, key)
		i.endRequested(key, version, err)
	}
}

// nextRequested returns an object that has to be read, and its version.
func (i *informer) nextRequested() (key client.ObjectKey, version string, found bool) {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	for {
		key, found = i.comparison.next()
		if !found {
			return key, "", false
		}
		if o := i.objects[key]; o != nil && o.compared.isUnread && i.run.Err() == nil {
			return key, o.version(), true
		}
	}
}

// endRequested wakes the components of an object if its version was not compared, because the read failed, or returned
// an older version.
func (i *informer) endRequested(key client.ObjectKey, version string, err error) {
	i.related.mu.Lock()
	defer i.related.mu.Unlock()
	o := i.objects[key]
	if o == nil || !o.compared.isUnread || o.version() != version || i.run.Err() != nil {
		return
	}
	if err != nil && !apierrors.IsNotFound(err) {
		i.related.host.tally.add(ResultFailed, 1)
	}
	i.follow(i.comparison.ofFailure(o), key, nil, o, types.NamespacedName{})
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

// reader reads objects of a cluster.
type reader struct {
	cluster Cluster
	convert converter
}

// request sends the request for an object. An object that the label selector does not select any more is not found.
// Fields cannot be compared here, so an object whose fields do not match any more is found until the watch shows that.
func (r reader) request(ctx context.Context, key client.ObjectKey) (*object, error) {
	gvk := r.convert.options.GVK
	mapping, err := r.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	live, err := r.cluster.Dynamic.Resource(mapping.Resource).Namespace(key.Namespace).
		Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	selector, err := labels.Parse(r.convert.options.Selector)
	if err != nil {
		return nil, err
	}
	if !selector.Matches(labels.Set(live.GetLabels())) {
		return nil, r.notFound(key)
	}
	o, err := r.convert.reduce(live)
	if err != nil {
		return nil, err
	}
	o.touched = time.Now()
	return o, o.partErr
}

func (r reader) notFound(key client.ObjectKey) error {
	gvk := r.convert.options.GVK
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.String())
}

// named adds the name of an object to an error, which may be nil.
func (r reader) named(key client.ObjectKey, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s %s: %w", r.convert.options.GVK.Kind, key, err)
}
