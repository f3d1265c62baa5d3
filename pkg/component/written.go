package component

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// What was written to a component is kept until the cache has it, or something newer. A pass compares with it until it ends. Afterwards it would
// be a second copy of an inventory that may have thousands of lines.

// freshest chooses between what was written last and what the cache has, in this order: what is dropped after the first look is in the cache by
// the time of the second. Of the same version it is what was written, which the pass compares with in the end: what came back has times
// without fractions of a second, and that difference is none to write.
func (r *Reconciler[T]) freshest(ctx context.Context, name types.NamespacedName) (T, error) {
	r.mu.Lock()
	written, kept := r.written[name]
	r.mu.Unlock()
	cached, err := newComponent[T]()
	if err != nil {
		return cached, err
	}
	if err := r.client.Get(ctx, name, cached); err != nil {
		return cached, err
	}
	if kept && (!isCaughtUp(cached, written) || cached.GetResourceVersion() == written.GetResourceVersion()) {
		if copied, ok := written.DeepCopyObject().(T); ok {
			return copied, nil
		}
	}
	return cached, nil
}

// isCaughtUp says that the cache has what was written, or something newer.
func isCaughtUp(cached, written client.Object) bool {
	return written.GetUID() != cached.GetUID() || !inspect.Newer(written.GetResourceVersion(), cached.GetResourceVersion())
}

// beginPass keeps what was written, and will be, until the pass ends.
func (r *Reconciler[T]) beginPass(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passing[name] = true
}

// endPass drops what was written where the cache has caught up with it already; later on the cache's events do.
func (r *Reconciler[T]) endPass(ctx context.Context, name types.NamespacedName) {
	r.mu.Lock()
	delete(r.passing, name)
	_, kept := r.written[name]
	r.mu.Unlock()
	if !kept {
		return
	}
	cached, err := newComponent[T]()
	if err == nil && r.client.Get(ctx, name, cached) == nil {
		r.caughtUp(cached)
	}
}

// caughtUp drops what was written to a component that is in the cache, unless a pass needs it, or it is newer.
func (r *Reconciler[T]) caughtUp(cached client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := client.ObjectKeyFromObject(cached)
	if written, kept := r.written[name]; kept && !r.passing[name] && isCaughtUp(cached, written) {
		delete(r.written, name)
	}
}
