package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// definingResources are what types come from that Kubernetes itself does not have.
var definingResources = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// definitions is the store beneath a watch on what defines types. It keeps nothing: when a definition comes or changes, the types that
// are not served are tried again at once, however long the pause is that their failures have earned.
type definitions struct{ observer *Observer }

// watchDefinitions watches definitions as long as a type that somebody uses is not served. The caller holds the lock.
func (o *Observer) watchDefinitions() {
	unserved := o.retryUnserved(false)
	switch {
	case unserved && o.stopDefinitions == nil:
		ctx, cancel := context.WithCancel(o.lifetime)
		o.stopDefinitions = cancel
		o.followDefinitions(ctx)
	case !unserved && o.stopDefinitions != nil:
		o.stopDefinitions()
		o.stopDefinitions = nil
	}
}

// follow starts the watches.
func (d definitions) follow(ctx context.Context) {
	for _, resource := range definingResources {
		go loop{
			source: func() (*cache.ListWatch, error) { return listWatch(d.observer.metadata.Resource(resource), ""), nil },
			store:  d, name: resource.Resource,
		}.run(ctx)
	}
}

// retryUnserved says whether a type is not served that somebody uses, and, where asked, tries these again. The caller holds the lock.
func (o *Observer) retryUnserved(now bool) (found bool) {
	for _, k := range o.kinds {
		if k.reason == plan.WaitNotServed {
			found = true
			if now {
				k.retry()
			}
		}
	}
	for _, t := range o.types {
		if t.reason == plan.WaitNotServed {
			found = true
			if now {
				t.retry()
			}
		}
	}
	return found
}

func (d definitions) retry() error {
	d.observer.mu.Lock()
	defer d.observer.mu.Unlock()
	d.observer.retryUnserved(true)
	return nil
}

// failed does nothing: without this watch, types that are not served are tried again after a pause.
func (definitions) failed(listFailure) {}

// watched does nothing.
func (definitions) watched() {}

// Add tries again what is not served.
func (d definitions) Add(any) error { return d.retry() }

// Update tries again what is not served.
func (d definitions) Update(any) error { return d.retry() }

// Delete does nothing: what is gone defines nothing.
func (d definitions) Delete(any) error { return nil }

// Replace tries again what is not served: it may have been defined before the watch began.
func (d definitions) Replace([]any, string) error { return d.retry() }

// Resync does nothing: nothing is polled.
func (d definitions) Resync() error { return nil }
