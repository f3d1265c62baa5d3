package related

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

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
	if obj := i.objects.kept(key); obj != nil {
		return obj, nil
	}
	read, err := i.read(ctx, key)
	if err != nil {
		return nil, err
	}
	i.objects.keep(key, read)
	return read.body, nil
}

// digest returns the digest of the part of an object that counts. It reads the object if its digest is not known.
func (i *informer) digest(ctx context.Context, key client.ObjectKey) (string, error) {
	o := i.objects.known(key)
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

// read reads an object that is not in memory, and stores its body. All callers that know the same version of the object
// share one request, so a change costs one request for all components. The request does not end with the context of a
// caller. The result is a copy, and its body is read-only. The error names the object.
func (i *informer) read(ctx context.Context, key client.ObjectKey) (*object, error) {
	// A request that began before a newer version was known must not be shared, because it may return an older one.
	flight := i.reads.DoChan(key.String()+" "+i.objects.known(key).version(), func() (any, error) {
		if o := i.objects.known(key); o != nil && o.body != nil {
			return o, nil // An earlier request ended after the caller looked.
		}
		bound, cancel := context.WithTimeout(i.convert.run, eventsources.RequestTimeout)
		defer cancel()
		o, err := i.reader.request(bound, key)
		if err != nil {
			return nil, err
		}
		copied, e := i.objects.storeRead(key, o)
		i.perform(e)
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

// readRequested reads objects until no request is left.
func (i *informer) readRequested() {
	for {
		key, version, found := i.objects.nextRequested(i.convert.run.Err() != nil)
		if !found {
			return
		}
		_, err := i.read(i.convert.run, key)
		if i.convert.run.Err() == nil {
			i.perform(i.objects.endRequested(key, version, err))
		}
	}
}

// reader reads objects of a cluster.
type reader struct {
	cluster eventsources.Cluster
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
