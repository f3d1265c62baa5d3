package rendering

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

// turns holds the turns of the components that wait for a rendering. A turn is kept until a pass renders the component,
// or until a pass ends that does not need a rendering any more.
type turns struct {
	mu      sync.Mutex
	waiting map[types.NamespacedName]*waitingTurn
}

// waitingTurn is a turn between two passes.
type waitingTurn struct {
	*turn.Turn
	// wanted is set if the current pass needs a rendering.
	wanted bool
	// keepsSource is set if the fetched source of the component is kept until the turn comes.
	keepsSource bool
}

// maxKeptSources is the number of components whose sources are kept until their turns come. Each of them is of another
// namespace.
const maxKeptSources = 4

// begin returns the turn of a component for the renderings of a pass. The caller calls the returned function with the
// error of the renderings.
func (t *turns) begin(name types.NamespacedName, wake func()) (of *turn.Turn, end func(error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.waiting[name]
	if w == nil {
		w = &waitingTurn{Turn: turn.New(wake)}
	}
	w.wanted = true
	return w.Turn, func(err error) { t.end(name, w, err) }
}

// end ends the renderings of a pass. The component keeps its turn if it waits, also for its source.
func (t *turns) end(name types.NamespacedName, w *waitingTurn, err error) {
	t.mu.Lock()
	_, known := t.waiting[name]
	if errors.Is(err, turn.ErrLater) || known && isFetching(err) {
		if t.waiting == nil {
			t.waiting = map[types.NamespacedName]*waitingTurn{}
		}
		t.waiting[name] = w
		t.mu.Unlock()
		return
	}
	delete(t.waiting, name)
	t.mu.Unlock()
	w.GiveUp()
}

// isFetching reports whether a rendering failed because it waits for something that is being fetched: the source, or a
// result that starts the next pass.
func isFetching(err error) bool {
	if errors.Is(err, passerror.ErrObserving) {
		return true
	}
	failure, ok := errors.AsType[*passerror.Error](err)
	return ok && failure.Reason == metav1alpha1.ReasonFetching
}

// endPass ends a pass over a component. It gives up a turn that the pass did not need. unused tells that the component
// has a source that the pass did not take. The result reports whether the source is kept, because the component waits
// for its turn. If it were dropped, a component whose fetch takes longer than its place in the line is kept would never
// render.
func (t *turns) endPass(name types.NamespacedName, unused bool) (keepsSource bool) {
	t.mu.Lock()
	w := t.waiting[name]
	if w == nil {
		t.mu.Unlock()
		return false
	}
	if w.wanted {
		w.wanted, w.keepsSource = false, unused && t.mayKeepSource(name)
		defer t.mu.Unlock()
		return w.keepsSource
	}
	delete(t.waiting, name)
	t.mu.Unlock()
	w.GiveUp()
	return false
}

// mayKeepSource reports whether the source of a component may be kept beside the kept sources of others. The caller
// holds the lock.
func (t *turns) mayKeepSource(name types.NamespacedName) bool {
	kept := 0
	for other, w := range t.waiting {
		if !w.keepsSource || other == name {
			continue
		}
		if kept++; other.Namespace == name.Namespace {
			return false
		}
	}
	return kept < maxKeptSources
}

// inTurn calls render with the turn of a component in the context. While the turn has not come, it returns
// turn.ErrLater, so that nothing is loaded for the component.
func (r *Renderer) inTurn(
	ctx context.Context, name types.NamespacedName, render func(ctx context.Context) error,
) (err error) {
	of, end := r.turns.begin(name, func() { r.options.Wake(name) })
	defer func() { end(err) }()
	if of.Waits() {
		return turn.ErrLater
	}
	return render(turn.With(ctx, of))
}
