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

// hearsay tells when all who listen to an operator's watch on gadgets have dealt with what a spec waits for. Each of
// them has a goroutine of its own: that one has heard of a change says nothing of the others.
type hearsay struct {
	// of picks what is waited for.
	of func(client.Object) bool

	mu    sync.Mutex
	heard []bool
}

// everybody says that there is nobody left who has not heard of it.
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

// newCache is cache.New, with an ear on who listens.
func (h *hearsay) newCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	c, err := cache.New(config, o)
	return heardCache{c, h}, err
}

// listener returns a handler that notes what it has dealt with.
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
func (c heardCache) GetInformer(ctx context.Context, obj client.Object, o ...cache.InformerGetOption) (cache.Informer, error) {
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
