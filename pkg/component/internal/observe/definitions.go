package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// definingResources are what types come from that Kubernetes itself does not have.
var definingResources = []schema.GroupVersionResource{
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// definitions is the store beneath a watch on what defines types. It keeps nothing, and tells of every event.
type definitions struct{ come, gone func() }

// FollowDefinitions calls come whenever something that defines types comes or changes, and when that begins to be watched, and gone when it
// goes, until ctx ends. Neither may block. Where these types cannot be watched, they are not called.
func FollowDefinitions(ctx context.Context, m metadata.Interface, come, gone func()) {
	for _, resource := range definingResources {
		go loop{
			source: func() (*cache.ListWatch, error) { return listWatch(m.Resource(resource), ""), nil },
			store:  definitions{come, gone}, name: resource.Resource,
		}.run(ctx)
	}
}

// watchDefinitions watches definitions as long as a type that somebody uses is not served. The caller holds the lock.
func (o *Observer) watchDefinitions() {
	unserved := len(o.unserved) > 0
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

// retrier is a watch that failed, and may try again, as long as somebody uses it.
type retrier interface {
	retry()
	used() bool
}

// serves notes whether the type of a watch is served, by the reason why nothing is known of it. A watch that ended may still tell of a last
// failure. The caller holds the lock.
func (o *Observer) serves(w retrier, reason plan.WaitReason) {
	if reason == plan.WaitNotServed && w.used() {
		o.unserved[w] = true
	} else {
		delete(o.unserved, w)
	}
	o.watchDefinitions()
}

// retry tries again at once what is not served, however long the pause is that its failures have earned.
func (o *Observer) retry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range o.unserved {
		w.retry()
	}
}

// failed does nothing: what is not known goes on as it was.
func (definitions) failed(listFailure) {}

// watched does nothing.
func (definitions) watched() {}

// Add tells of a definition.
func (d definitions) Add(any) error { return d.Update(nil) }

// Update tells of a definition.
func (d definitions) Update(any) error {
	d.come()
	return nil
}

// Delete tells of the end of a definition.
func (d definitions) Delete(any) error {
	d.gone()
	return nil
}

// Replace tells of what happened before the watch began.
func (d definitions) Replace([]any, string) error { return d.Update(nil) }

// Resync does nothing: nothing is polled.
func (d definitions) Resync() error { return nil }
