package observe

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// LabelledHandler receives the watch events of objects with a label. None of its methods may block.
type LabelledHandler interface {
	// Listed is called with all objects of a list in a namespace, or in all namespaces if namespace is empty. Objects
	// that are not in the list were deleted, or lost the label, or were created after the list.
	Listed(namespace string, objects ...*metav1.PartialObjectMetadata)
	// Updated is called with each object that is created or changed after the list.
	Updated(objects ...*metav1.PartialObjectMetadata)
	// Deleted is called with an object that was deleted or lost the label.
	Deleted(object *metav1.PartialObjectMetadata)
	// Forbidden is called when list or watch is refused because of a missing right. It is called again only if a list has
	// succeeded in between.
	Forbidden(message string)
}

// labelledRefused has the pauses after a refused watch on labelled objects. An API server that has just started refuses
// requests until it has read the roles, so the first pauses are short. An operator that never gets the right asks only
// once an hour.
var labelledRefused = wait.Backoff{Duration: 5 * time.Second, Factor: 2, Jitter: 0.2, Steps: 30, Cap: time.Hour}

// WatchLabelled starts a watch on the metadata of the objects of a resource that carry a label, in a namespace, or in
// all namespaces if namespace is empty. The watch runs until ctx ends. If it is refused, it is tried again.
func WatchLabelled(
	ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, namespace, label string,
	handler LabelledHandler,
) {
	store := &labelledStore{handler: handler, namespace: namespace}
	go reflectorLoop{
		requests: func() (*cache.ListWatch, error) {
			return listWatchMetadata(client.Resource(resource).Namespace(namespace), label), nil
		},
		store: store, listener: store, refused: labelledRefused, name: resource.Resource + " with " + label,
	}.run(ctx)
}

// labelledStore is the store of a watch on labelled objects. It stores nothing and passes each watch event to the
// handler.
type labelledStore struct {
	handler   LabelledHandler
	namespace string
	// isRefused is set while the API server refuses the watch.
	isRefused bool
}

// listFailed implements loopListener.
func (s *labelledStore) listFailed(f watchFailure) {
	if f.reason == plan.WaitUnwatched && !s.isRefused {
		s.isRefused = true
		s.handler.Forbidden(f.message)
	}
}

// watchOpened implements loopListener.
func (*labelledStore) watchOpened() {}

// Add passes a new object to the handler.
func (s *labelledStore) Add(obj any) error { return s.Update(obj) }

// Update passes a changed object to the handler.
func (s *labelledStore) Update(obj any) error {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		s.handler.Updated(o)
	}
	return nil
}

// Delete passes a deleted object to the handler.
func (s *labelledStore) Delete(obj any) error {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		s.handler.Deleted(o)
	}
	return nil
}

// Replace passes all objects of a list to the handler.
func (s *labelledStore) Replace(list []any, _ string) error {
	s.isRefused = false
	objects := make([]*metav1.PartialObjectMetadata, 0, len(list))
	for _, obj := range list {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			objects = append(objects, o)
		}
	}
	s.handler.Listed(s.namespace, objects...)
	return nil
}

// Resync does nothing, because the handler needs only watch events.
func (*labelledStore) Resync() error { return nil }
