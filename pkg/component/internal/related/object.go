package related

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// object is the stored form of a related object.
type object struct {
	meta *metav1.PartialObjectMetadata
	// body is nil if it is not kept.
	body client.Object
	// touched is the time at which the body was used last.
	touched time.Time
	// digest identifies the part that counts. It is empty if the body was not read, or if the part has the error partErr.
	digest  string
	partErr error
	// components are the components that the object is for.
	components []types.NamespacedName
	compared   comparisonState
}

// comparisonState is the state of the comparison of an object.
type comparisonState struct {
	// digest is that of the last version that was read; it is empty if no version was read.
	digest string
	// isUnread is set if the current version has to be read, to find out whether it differs.
	isUnread bool
	// bodyWasKept is set if the body of the version before was in memory.
	bodyWasKept bool
}

// version returns the resource version of an object; empty if o is nil.
func (o *object) version() string {
	if o == nil {
		return ""
	}
	return o.meta.ResourceVersion
}

// needsRead reports whether the object has to be read to learn its digest.
func (o *object) needsRead() bool { return o.digest == "" && o.partErr == nil }

// converter makes the stored forms of objects, and the forms that functions of the author get.
type converter struct {
	options       *Options
	run           context.Context
	clusterScoped *atomic.Bool
}

// reduce returns the stored form of an object of a list, a watch or a request. It calls functions of the author, so the
// caller must not hold the lock.
func (c converter) reduce(obj any) (*object, error) {
	o, err := c.withoutDigest(obj)
	if err != nil {
		return nil, err
	}
	return c.complete(o)
}

// withoutDigest returns the stored form of an object of a list or a watch, without its digest and its components.
func (c converter) withoutDigest(obj any) (*object, error) {
	// Objects of one list are dropped one after the other, not all at once.
	o := &object{touched: time.Now().Add(backoff.Within(c.options.Idle))}
	switch obj := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.meta = metadataOf(c.options.GVK, obj)
	case *unstructured.Unstructured:
		body, err := c.typed(obj)
		if err != nil {
			return nil, err
		}
		o.meta, o.body = metadataOf(c.options.GVK, body), body
	default:
		return nil, fmt.Errorf("an object has the type %T", obj)
	}
	return o, nil
}

// ofResponse returns the stored form of the response of a write. The caller must not hold the lock, as for reduce.
func (c converter) ofResponse(obj client.Object) (*object, error) {
	copied, err := copyOf(obj)
	if err != nil {
		return nil, err
	}
	copied.SetManagedFields(nil)
	o := &object{meta: metadataOf(c.options.GVK, copied), touched: time.Now()}
	if !c.options.MetadataOnly {
		o.body = copied
	}
	if o, err = c.complete(o); err != nil {
		return nil, err
	}
	return o, o.partErr
}

// complete returns an object with its digest and its components, which functions of the author compute.
func (c converter) complete(o *object) (*object, error) {
	completed := *o
	switch {
	case c.options.MetadataOnly:
		completed.digest, completed.partErr = c.digestOf(o.meta)
	case o.body != nil:
		completed.digest, completed.partErr = c.digestOf(o.body)
	}
	var err error
	if completed.components, err = c.componentsOf(o); err != nil {
		return nil, err
	}
	return &completed, nil
}

// componentsOf returns the components that an object names. Mappers return the namespace of the object, which
// cluster-scoped components do not have.
func (c converter) componentsOf(o *object) (names []types.NamespacedName, err error) {
	if c.options.For == nil {
		return nil, nil
	}
	err = eventsources.CallAuthor(c.run, func(context.Context) error {
		names = slices.Clone(c.options.For(c.argument(o)))
		return nil
	})
	if c.clusterScoped.Load() {
		for n := range names {
			names[n].Namespace = ""
		}
	}
	return names, err
}

// digestOf returns the digest of the part of a body that counts.
func (c converter) digestOf(body client.Object) (string, error) {
	part, err := c.partOf(body)
	if err != nil {
		return "", err
	}
	digest, _, err := eventsources.Digest(part)
	return digest, err
}

// partOf returns the part of an object that counts. Its resource version and its managed fields never count.
func (c converter) partOf(obj client.Object) (part any, err error) {
	if c.options.Part != nil {
		err = eventsources.CallAuthor(c.run, func(context.Context) error {
			part = c.options.Part(obj)
			return nil
		})
		return part, err
	}
	copied, err := copyOf(obj)
	if err != nil {
		return nil, err
	}
	copied.SetResourceVersion("")
	copied.SetManagedFields(nil)
	return copied, nil
}

// typed converts an object to the type of the relation, without managed fields.
func (c converter) typed(u *unstructured.Unstructured) (client.Object, error) {
	u.SetManagedFields(nil)
	made := c.options.New()
	if target, ok := made.(*unstructured.Unstructured); ok {
		target.Object = u.Object
		return target, nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, made)
	return made, err
}

// argument returns an object in the form that mappers and filters get: the whole object if the relation is Whole,
// otherwise a typed object with metadata only.
func (c converter) argument(o *object) client.Object {
	switch {
	case c.options.MetadataOnly:
		return o.meta
	case c.options.Whole && o.body != nil:
		return o.body
	}
	m := o.meta
	made := c.options.New()
	made.SetName(m.Name)
	made.SetNamespace(m.Namespace)
	made.SetUID(m.UID)
	made.SetResourceVersion(m.ResourceVersion)
	made.SetGeneration(m.Generation)
	made.SetCreationTimestamp(m.CreationTimestamp)
	made.SetDeletionTimestamp(m.DeletionTimestamp)
	made.SetLabels(m.Labels)
	made.SetAnnotations(m.Annotations)
	made.SetOwnerReferences(m.OwnerReferences)
	made.SetFinalizers(m.Finalizers)
	return made
}

// metadataOf returns the metadata of an object, without managed fields.
func metadataOf(gvk schema.GroupVersionKind, obj client.Object) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		Generation: obj.GetGeneration(), CreationTimestamp: obj.GetCreationTimestamp(),
		DeletionTimestamp: obj.GetDeletionTimestamp(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(),
	}}
	m.SetGroupVersionKind(gvk)
	return m
}

// copyOf returns a deep copy of an object.
func copyOf(obj client.Object) (client.Object, error) {
	copied, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("a copy of %T is no object", obj)
	}
	return copied, nil
}
