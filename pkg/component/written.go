package component

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/inspect"
)

// writes keep what was written to components, each until the cache has it, or something newer. A pass compares with it until it ends. Afterwards it
// would be a second copy of an inventory that may have thousands of lines. What it returns is read-only.
type writes[T client.Object] struct {
	mu      sync.Mutex
	last    map[types.NamespacedName]T
	passing map[types.NamespacedName]bool
}

func newWrites[T client.Object]() *writes[T] {
	return &writes[T]{last: map[types.NamespacedName]T{}, passing: map[types.NamespacedName]bool{}}
}

// of returns what was written to a component last, and whether it is kept.
func (w *writes[T]) of(name types.NamespacedName) (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, kept := w.last[name]
	return written, kept
}

// keep keeps what was written, unless it was overtaken: an author's write by one of the pass, or the other way round.
func (w *writes[T]) keep(written T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(written)
	last, ok := w.last[name]
	if ok && last.GetUID() == written.GetUID() && !inspect.Newer(written.GetResourceVersion(), last.GetResourceVersion()) {
		return
	}
	w.last[name] = written
}

// begin keeps what was written, and will be, until the pass ends.
func (w *writes[T]) begin(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passing[name] = true
}

func (w *writes[T]) end(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.passing, name)
}

// drop drops what was written to a component that is in the cache, unless a pass needs it, or it is newer.
func (w *writes[T]) drop(cached client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := client.ObjectKeyFromObject(cached)
	if written, kept := w.last[name]; kept && !w.passing[name] && isCaughtUp(cached, written) {
		delete(w.last, name)
	}
}

func (w *writes[T]) forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, name)
}

// freshest chooses between what was written last and what the cache has, in this order: what is dropped after the first look is in the cache by
// the time of the second. Of the same version it is what was written, which the pass compares with in the end: what came back has times
// without fractions of a second, and that difference is none to write.
func (r *Reconciler[T]) freshest(ctx context.Context, name types.NamespacedName) (T, error) {
	written, kept := r.written.of(name)
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

// endPass drops what was written where the cache has caught up with it already; later on the cache's events do.
func (r *Reconciler[T]) endPass(ctx context.Context, name types.NamespacedName) {
	r.written.end(name)
	if _, kept := r.written.of(name); !kept {
		return
	}
	cached, err := newComponent[T]()
	if err == nil && r.client.Get(ctx, name, cached) == nil {
		r.written.drop(cached)
	}
}
