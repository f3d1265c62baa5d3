package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// Marks is told of objects with a label of ours. None of its methods may block.
type Marks interface {
	// See is told of all objects when they are listed, and of each that comes or changes after that.
	See(objects ...*metav1.PartialObjectMetadata)
	// Gone is told of one that is not there any more, or has lost the label.
	Gone(object *metav1.PartialObjectMetadata)
	// Refused is told that listing or watching is forbidden. That is the end: what needs the objects goes without.
	Refused(message string)
}

// marked is the store beneath a watch on objects with a label of ours. It keeps nothing.
type marked struct {
	to  Marks
	end context.CancelFunc
}

// FollowMarked tells of the objects of a type that carry a label, in a namespace, or in all of them, until ctx ends.
func FollowMarked(ctx context.Context, m metadata.Interface, resource schema.GroupVersionResource, namespace, label string, to Marks) {
	ctx, cancel := context.WithCancel(ctx)
	go loop{
		source: func() (*cache.ListWatch, error) {
			return listWatch(m.Resource(resource).Namespace(namespace), label), nil
		},
		store: marked{to: to, end: cancel}, name: resource.Resource + " with " + label,
	}.run(ctx)
}

func (m marked) failed(f listFailure) {
	if f.reason == plan.WaitUnwatched {
		m.end()
		m.to.Refused(f.message)
	}
}

// watched does nothing.
func (marked) watched() {}

// Add tells of an object.
func (m marked) Add(obj any) error { return m.Update(obj) }

// Update tells of an object.
func (m marked) Update(obj any) error { return m.Replace([]any{obj}, "") }

// Delete tells of the end of an object.
func (m marked) Delete(obj any) error {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.to.Gone(o)
	}
	return nil
}

// Replace tells of all objects.
func (m marked) Replace(list []any, _ string) error {
	objects := make([]*metav1.PartialObjectMetadata, 0, len(list))
	for _, obj := range list {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			objects = append(objects, o)
		}
	}
	m.to.See(objects...)
	return nil
}

// Resync does nothing: nothing is polled.
func (marked) Resync() error { return nil }
