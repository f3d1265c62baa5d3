package isolate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/generator/isolate/internal/fair"
)

// maxKnownLong is the number of components that the line knows to have long renderings.
const maxKnownLong = 1000

// errStopped is the cause of the end of a rendering that was stopped because others wait.
var errStopped = errors.New("stopped, because others wait")

// line admits a number of renderings at the same time, as package fair decides. The others wait: those with a Turn
// without a worker if it takes long.
type line struct {
	clock     clock.WithDelayedExecution
	processes int

	mu sync.Mutex
	// running and waiting are the renderings of fair.State; places has their places, and turns those with a Turn.
	running, waiting []*fair.Rendering
	places           map[*fair.Rendering]*place
	turns            map[*turn.Turn]*place
	accounts         fair.Accounts
	// long are the components whose last rendering was stopped.
	long  *lru.Cache
	timer clock.Timer
}

// place is the place of a request in the line, and of its renderings afterwards. A Turn keeps the place for all
// renderings of a pass.
type place struct {
	*fair.Rendering
	component string
	turn      *turn.Turn
	// changed is closed when a request that waits in a call is admitted or detached.
	changed chan struct{}
	// stop stops the rendering, and lower lowers the priority of its process; nil before it begins.
	stop  context.CancelCauseFunc
	lower func()
}

func newLine(processes int, c clock.WithDelayedExecution) *line {
	return &line{
		clock: c, processes: processes, places: map[*fair.Rendering]*place{}, turns: map[*turn.Turn]*place{},
		long: lru.New(maxKnownLong),
	}
}

// enter waits until a rendering of a component is admitted. The caller calls leave afterwards, unless enter returns an
// error. The error is turn.ErrLater if the request of a Turn keeps its place without a worker.
func (l *line) enter(ctx context.Context, namespace, component string) (*place, error) {
	t := turn.Of(ctx)
	began := l.clock.Now()
	if t != nil {
		defer func() { t.AddWait(l.clock.Since(began)) }()
	}
	l.mu.Lock()
	p := l.turns[t]
	switch {
	case p == nil:
		p = l.add(namespace, component, t)
	case p.Phase == fair.Kept || p.Phase == fair.Held:
		p.set(fair.Starting, began)
	}
	l.unlock(l.decide())
	return p, l.await(ctx, p)
}

// await waits until a place is admitted; see enter.
func (l *line) await(ctx context.Context, p *place) error {
	l.mu.Lock()
	changed := make(chan struct{})
	p.changed = changed
	if p.Phase != fair.Waiting || p.Detached {
		p.tell()
	}
	l.mu.Unlock()
	select {
	case <-changed:
	case <-ctx.Done():
		l.remove(p)
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Phase != fair.Starting {
		return turn.ErrLater
	}
	return nil
}

// add adds a request to the line. The caller holds the lock.
func (l *line) add(namespace, component string, t *turn.Turn) *place {
	_, long := l.long.Get(component)
	r := &fair.Rendering{
		Namespace: namespace, Phase: fair.Waiting, Since: l.clock.Now(), Long: long, Detachable: t != nil,
	}
	p := &place{Rendering: r, component: component, turn: t}
	l.accounts.Enter(namespace, l.state(), r.Since)
	l.waiting = append(l.waiting, r)
	l.places[r] = p
	if t != nil {
		l.turns[t] = p
		t.Enter(func() { l.remove(p) })
	}
	return p
}

// begin tells that the process of a rendering has started. From now on the rendering may be stopped. lower is called
// once the rendering has a long place, and must not block.
func (l *line) begin(p *place, stop context.CancelCauseFunc, lower func()) {
	l.mu.Lock()
	p.stop, p.lower = stop, lower
	p.set(fair.Running, l.clock.Now())
	if p.Long {
		lower()
	}
	l.unlock(l.decide())
}

// leave ends a rendering. A stopped one is in line again: without a worker if it has a Turn, and else until the end of
// await. The place of a Turn is kept until the Turn gives it up.
func (l *line) leave(p *place, stopped bool) {
	l.mu.Lock()
	now := l.clock.Now()
	p.stop, p.lower = nil, nil
	switch {
	case stopped:
		l.long.Add(p.component, true)
		l.requeue(p, now, 0)
	default:
		if p.Phase == fair.Running && now.Sub(p.Since) < fair.Quick {
			l.long.Remove(p.component)
		}
		if p.turn == nil {
			l.drop(p, now)
			break
		}
		p.set(fair.Held, now)
	}
	l.unlock(l.decide())
}

// remove ends the place of a request.
func (l *line) remove(p *place) {
	l.mu.Lock()
	l.drop(p, l.clock.Now())
	l.unlock(l.decide())
}

// drop removes a place. The caller holds the lock.
func (l *line) drop(p *place, now time.Time) {
	if l.places[p.Rendering] != p {
		return
	}
	l.free(p, now)
	l.waiting = without(l.waiting, p.Rendering)
	delete(l.places, p.Rendering)
	delete(l.turns, p.turn)
}

// free takes the process of a place. The caller holds the lock.
func (l *line) free(p *place, now time.Time) {
	if p.Phase != fair.Waiting {
		l.running = without(l.running, p.Rendering)
		l.accounts.Charge(p.Namespace, now.Sub(p.Got))
	}
}

// requeue puts a place with a process back into the line. The caller holds the lock.
func (l *line) requeue(p *place, now time.Time, at int) {
	l.free(p, now)
	_, p.Long = l.long.Get(p.component)
	p.set(fair.Waiting, now)
	if p.turn != nil {
		p.Detached = true
		p.turn.Postpone()
	}
	l.waiting = slices.Insert(l.waiting, at, p.Rendering)
}

func without(list []*fair.Rendering, r *fair.Rendering) []*fair.Rendering {
	return slices.DeleteFunc(list, func(other *fair.Rendering) bool { return other == r })
}

func (p *place) set(phase fair.Phase, now time.Time) { p.Phase, p.Since = phase, now }

func (l *line) state() fair.State {
	return fair.State{Processes: l.processes, Running: l.running, Waiting: l.waiting, Spent: l.accounts.Spent()}
}

// decide carries out decisions until nothing is left to do. It returns the Turns that are next. The caller holds the
// lock.
func (l *line) decide() (next []*turn.Turn) {
	for {
		now := l.clock.Now()
		d := fair.Decide(l.state(), now)
		for _, r := range d.Promote {
			r.Long = true
			l.places[r].lower()
		}
		for _, r := range d.Admit {
			next = append(next, l.admit(l.places[r], now)...)
		}
		for _, r := range d.Detach {
			r.Detached = true
			l.places[r].turn.Postpone()
			l.places[r].tell()
		}
		freed := false
		for _, r := range d.Stop {
			freed = l.halt(l.places[r], now) || freed
		}
		if !freed {
			l.schedule(d.Next, now)
			return next
		}
	}
}

// admit gives a process to a waiting request. The caller holds the lock.
func (l *line) admit(p *place, now time.Time) (next []*turn.Turn) {
	l.waiting = without(l.waiting, p.Rendering)
	l.running = append(l.running, p.Rendering)
	p.Got = now
	if !p.Detached {
		p.set(fair.Starting, now)
		p.tell()
		return nil
	}
	p.Detached = false
	p.set(fair.Kept, now)
	return []*turn.Turn{p.turn}
}

// halt stops a rendering, and reports whether its process is free already. The caller holds the lock.
func (l *line) halt(p *place, now time.Time) (freed bool) {
	if p.Phase == fair.Kept {
		l.requeue(p, now, len(l.waiting))
		return true
	}
	p.set(fair.Stopping, now)
	p.stop(errStopped)
	return false
}

// tell ends the wait of a call.
func (p *place) tell() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// schedule makes the next decision at the given time. The caller holds the lock.
func (l *line) schedule(at, now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if !at.IsZero() {
		l.timer = l.clock.AfterFunc(at.Sub(now), func() {
			l.mu.Lock()
			l.unlock(l.decide())
		})
	}
}

// unlock releases the lock, and wakes the components that are next.
func (l *line) unlock(next []*turn.Turn) {
	l.mu.Unlock()
	for _, t := range next {
		t.Wake()
	}
}
