package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// definingResources are the resources that add types to an API server.
var definingResources = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// WatchDefinitions starts watches on CustomResourceDefinitions and APIServices, which run until ctx ends. The function
// changed is called when a definition was created or changed, and when a watch begins. The function deleted is called
// when a definition was deleted. Neither function may block. If the API server refuses a watch, the request is
// repeated; until it succeeds, no watch events are reported.
func WatchDefinitions(ctx context.Context, client metadata.Interface, changed, deleted func()) {
	for _, resource := range definingResources {
		store := definitionStore{changed, deleted}
		go reflectorLoop{
			requests: func() (*cache.ListWatch, error) { return listWatchMetadata(client.Resource(resource), ""), nil },
			store:    store, listener: store, name: resource.Resource,
		}.run(ctx)
	}
}

// definitionStore is the store of a watch on definitions. It stores nothing and reports each watch event.
type definitionStore struct{ changed, deleted func() }

// listFailed implements loopListener.
func (definitionStore) listFailed(watchFailure) {}

// watchOpened implements loopListener.
func (definitionStore) watchOpened() {}

// Add reports a new definition.
func (s definitionStore) Add(any) error { return s.Update(nil) }

// Update reports a changed definition.
func (s definitionStore) Update(any) error {
	s.changed()
	return nil
}

// Delete reports a deleted definition.
func (s definitionStore) Delete(any) error {
	s.deleted()
	return nil
}

// Replace reports that definitions may have changed before the watch began.
func (s definitionStore) Replace([]any, string) error { return s.Update(nil) }

// Resync does nothing, because only watch events are reported.
func (definitionStore) Resync() error { return nil }

// definitionWatch watches CustomResourceDefinitions and APIServices as long as a watch of the Observer fails because
// its type is not served. The Observer's lock protects the fields.
type definitionWatch struct {
	lifetime context.Context
	start    func(context.Context)
	// stop ends the watches. It is nil while they do not run.
	stop context.CancelFunc
	// unserved are the watches on types that are not served.
	unserved map[*watchState]bool
}

// noteReason notes whether the type of a watch is served. The argument reason is the reason why the objects of the
// watch are not known. A watch that no component uses is ignored, because a stopped watch may still report a failure.
func (d *definitionWatch) noteReason(w *watchState, reason plan.WaitReason) {
	if reason == plan.WaitNotServed && len(w.users) > 0 {
		d.unserved[w] = true
	} else {
		delete(d.unserved, w)
	}
	d.update()
}

// forget removes a stopped watch from unserved. The caller must call update afterwards.
func (d *definitionWatch) forget(w *watchState) { delete(d.unserved, w) }

// update starts or stops the watches on definitions.
func (d *definitionWatch) update() {
	needed := len(d.unserved) > 0
	switch {
	case needed && d.stop == nil:
		ctx, cancel := context.WithCancel(d.lifetime)
		d.stop = cancel
		d.start(ctx)
	case !needed && d.stop != nil:
		d.stop()
		d.stop = nil
	}
}

// retryUnserved ends the retry pauses of all watches on types that are not served.
func (d *definitionWatch) retryUnserved() {
	for w := range d.unserved {
		w.retryNow()
	}
}
