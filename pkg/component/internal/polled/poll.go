package polled

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// Poll asks one service at an interval for the values of all components.
type Poll struct {
	eventsources.Once
	every time.Duration
	fetch FetchAll
	calls caller
	again chan struct{}

	mu sync.Mutex
	// tracked are the components that exist.
	tracked map[types.NamespacedName]bool
	values  map[types.NamespacedName]*cell
	// all holds the state of the fetch; its value is not used.
	all cell
}

// NewPoll returns a Poll.
func NewPoll(every time.Duration, fetch FetchAll) *Poll {
	return &Poll{
		every: every, fetch: fetch, again: make(chan struct{}, 1),
		tracked: map[types.NamespacedName]bool{}, values: map[types.NamespacedName]*cell{},
	}
}

// Run implements eventsources.EventSource.
func (p *Poll) Run(ctx context.Context, port *eventsources.Port) {
	defer p.end()
	share := firstShare
	for ctx.Err() == nil {
		pause(ctx, backoff.Around(p.ask(ctx, port), share), p.again)
		share = laterShare
	}
}

// Refresh fetches the values at once.
func (p *Poll) Refresh() { send(p.again) }

// ask fetches the values once, wakes the components that have to be told, and returns the delay before the next fetch.
func (p *Poll) ask(ctx context.Context, port *eventsources.Port) time.Duration {
	fetched, err := fetchCells(ctx, &p.calls, max(eventsources.RequestTimeout, p.every/2), p.fetch)
	if ctx.Err() != nil {
		return 0
	}
	if err == nil {
		port.Answered(time.Now())
	} else {
		port.Count(eventsources.ResultFailed, 1)
	}
	woken, equal, delay := p.store(fetched, err)
	port.Count(eventsources.ResultEqual, equal)
	for _, name := range woken {
		port.Wake(name)
	}
	return delay
}

// store stores the result of a fetch, and returns the components that have to be told, the number of values of other
// components, and the delay before the next fetch.
func (p *Poll) store(
	fetched map[types.NamespacedName]*cell, err error,
) (woken []types.NamespacedName, equal int, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if p.all.fail(err, time.Now()) {
			woken = p.names()
		}
		return woken, 0, min(p.every, p.all.retry())
	}
	if p.all.put(nil, "", time.Now()) {
		woken = p.names()
	} else {
		for name := range p.tracked {
			switch {
			case digestIn(p.values, name) != digestIn(fetched, name):
				woken = append(woken, name)
			case fetched[name] != nil:
				equal++
			}
		}
	}
	p.values = fetched
	return woken, equal, p.every
}

func digestIn(cells map[types.NamespacedName]*cell, name types.NamespacedName) string {
	if c := cells[name]; c != nil {
		return c.digest
	}
	return ""
}

// names returns the tracked components. The caller holds the lock.
func (p *Poll) names() []types.NamespacedName {
	names := make([]types.NamespacedName, 0, len(p.tracked))
	for name := range p.tracked {
		names = append(names, name)
	}
	return names
}

// end drops all values.
func (p *Poll) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked, p.values, p.all = map[types.NamespacedName]bool{}, nil, cell{}
}

// Track implements eventsources.EventSource.
func (p *Poll) Track(_ context.Context, obj client.Object, _ eventsources.Clusters) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked[client.ObjectKeyFromObject(obj)] = true
}

// Forget implements eventsources.EventSource.
func (p *Poll) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tracked, name)
	delete(p.values, name)
}

// State implements eventsources.EventSource.
func (p *Poll) State(types.NamespacedName) eventsources.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.state()
}

// Input implements eventsources.EventSource.
func (p *Poll) Input(_ context.Context, name types.NamespacedName) (eventsources.Input, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.all.answered {
		return p.all.input()
	}
	if c := p.values[name]; c != nil {
		return c.input()
	}
	return eventsources.Input{}, nil
}

// Get returns the value of a component, and the time of the last fetch that returned it.
func (p *Poll) Get(name types.NamespacedName) (value any, at time.Time, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.values[name]; c != nil {
		return c.value, c.at, true
	}
	return nil, time.Time{}, false
}

// Kind implements eventsources.EventSource.
func (p *Poll) Kind() eventsources.Kind { return eventsources.KindPolling }

// Size implements eventsources.EventSource.
func (p *Poll) Size() (values, stale int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all.isStale() {
		stale = len(p.tracked)
	}
	return len(p.values), stale
}
