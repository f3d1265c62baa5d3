package turn

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrLater ends a pass whose turn has not come. Turn.Wake starts the next pass.
var ErrLater = errors.New("the rendering waits for its turn, because other components render")

// Turn is the place of a component in the line of a generator. The owner keeps the Turn while it waits, uses it for all
// renderings of a pass, and calls GiveUp afterwards. A Turn is safe for concurrent use.
type Turn struct {
	wake func()

	mu     sync.Mutex
	giveUp func()
	waits  bool
	waited time.Duration
}

// New returns the turn of a component. wake starts a pass over the component; it must not block.
func New(wake func()) *Turn { return &Turn{wake: wake} }

// key is the key of the Turn in a context.
type key struct{}

// With returns a context with a turn.
func With(ctx context.Context, t *Turn) context.Context { return context.WithValue(ctx, key{}, t) }

// Of returns the turn of a context, or nil.
func Of(ctx context.Context) *Turn {
	t, _ := ctx.Value(key{}).(*Turn)
	return t
}

// Enter stores how the component leaves the line. The line calls it.
func (t *Turn) Enter(giveUp func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUp = giveUp
}

// GiveUp leaves the line, or gives back the place of the component. Without a place it does nothing.
func (t *Turn) GiveUp() {
	t.mu.Lock()
	giveUp := t.giveUp
	t.giveUp, t.waits = nil, false
	t.mu.Unlock()
	if giveUp != nil {
		giveUp()
	}
}

// Postpone tells that the component waits without a pass, until Wake. The line calls it.
func (t *Turn) Postpone() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waits = true
}

// Wake tells that the component is next, and starts its next pass. The line calls it.
func (t *Turn) Wake() {
	t.mu.Lock()
	t.waits = false
	t.mu.Unlock()
	t.wake()
}

// Waits reports whether the component waits without a pass, so that a rendering would return ErrLater.
func (t *Turn) Waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits
}

// AddWait adds time that a call has spent in line. The line calls it.
func (t *Turn) AddWait(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited += d
}

// TakeWait returns the time that calls have spent in line since the last call of TakeWait.
func (t *Turn) TakeWait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	waited := t.waited
	t.waited = 0
	return waited
}
