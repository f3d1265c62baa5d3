package conformance_test

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/gadget"
)

// hearsay records which event handlers of an operator's cache of gadgets have processed the event that a spec waits
// for. Each handler has its own goroutine, so the handlers process the event at different times.
type hearsay struct {
	// of reports whether an object is in the state that the spec waits for.
	of func(client.Object) bool

	mu    sync.Mutex
	heard []bool
}

// everybody reports whether all handlers have processed the event.
func (h *hearsay) everybody() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, heard := range h.heard {
		if !heard {
			return false
		}
	}
	return len(h.heard) > 0
}

// newCache is like cache.New, but its event handlers report to h.
func (h *hearsay) newCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	c, err := cache.New(config, o)
	return heardCache{c, h}, err
}

// listener wraps an event handler, and records when it has processed the event.
func (h *hearsay) listener(handler toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, false)
	return listener{handler, h, len(h.heard) - 1}
}

type listener struct {
	toolscache.ResourceEventHandler
	hearsay *hearsay
	number  int
}

// OnUpdate implements cache.ResourceEventHandler.
func (l listener) OnUpdate(before, after any) {
	l.ResourceEventHandler.OnUpdate(before, after)
	if obj, ok := after.(client.Object); ok && l.hearsay.of(obj) {
		l.hearsay.mu.Lock()
		defer l.hearsay.mu.Unlock()
		l.hearsay.heard[l.number] = true
	}
}

type heardCache struct {
	cache.Cache
	hearsay *hearsay
}

// GetInformer implements cache.Informers.
func (c heardCache) GetInformer(ctx context.Context, obj client.Object, o ...cache.InformerGetOption) (cache.Informer,
	error,
) {
	informer, err := c.Cache.GetInformer(ctx, obj, o...)
	if _, ok := obj.(*gadget.Gadget); !ok || err != nil {
		return informer, err
	}
	return heardInformer{informer, c.hearsay}, nil
}

type heardInformer struct {
	cache.Informer
	hearsay *hearsay
}

// AddEventHandler implements cache.Informer.
func (i heardInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(i.hearsay.listener(handler))
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i heardInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, o toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(i.hearsay.listener(handler), o)
}
