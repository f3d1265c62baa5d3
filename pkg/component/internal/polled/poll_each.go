package polled

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// MaxFetches is the number of fetches of a PollEach that run at the same time.
const MaxFetches = 16

// EachOptions configure a PollEach.
type EachOptions struct {
	// Fetch returns the value for a component.
	Fetch func(context.Context, client.Object) (any, error)
	// After returns the delay before the next fetch; zero or less means that no further fetch is due.
	After func(client.Object, any) time.Duration
	// When reports whether a component has a value at all. It may be nil.
	When func(client.Object) bool
	// Key identifies what is fetched. When Key changes, the value is forgotten. Key may be nil.
	Key func(client.Object) string
	// Timeout is the timeout of a fetch.
	Timeout time.Duration
}

// PollEach asks a service for the value of each component, at an interval of the component.
type PollEach struct {
	eventsources.Once
	options EachOptions
	slots   chan struct{}
	values  dueValues
}

// NewPollEach returns a PollEach.
func NewPollEach(o EachOptions) *PollEach {
	if o.Timeout <= 0 {
		o.Timeout = eventsources.RequestTimeout
	}
	return &PollEach{options: o, slots: make(chan struct{}, MaxFetches), values: newDueValues()}
}

// Run implements eventsources.EventSource.
func (p *PollEach) Run(ctx context.Context, port *eventsources.Port) {
	defer p.values.end()
	for ctx.Err() == nil {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		next := p.await(ctx)
		if next == nil {
			<-p.slots
			return
		}
		go func() {
			defer func() { <-p.slots }()
			p.ask(ctx, port, next)
		}()
	}
}

// await waits until a fetch is due, and returns it. It returns nil when ctx ends.
func (p *PollEach) await(ctx context.Context) *dueValue {
	for ctx.Err() == nil {
		next, delay := p.values.pop(time.Now())
		if next != nil {
			return next
		}
		pause(ctx, delay, p.values.changed)
	}
	return nil
}

// fetched is the result of a fetch.
type fetched struct {
	value  any
	digest string
	// after is the delay before the next fetch.
	after time.Duration
}

// ask fetches the value of a component once.
func (p *PollEach) ask(ctx context.Context, port *eventsources.Port, of *dueValue) {
	result, err := call(ctx, of.calls, p.options.Timeout, func(ctx context.Context) (f fetched, err error) {
		obj, err := port.Load(ctx, of.name)
		if apierrors.IsNotFound(err) {
			return f, errNoComponent
		}
		if err != nil {
			return f, err
		}
		if f.value, err = p.options.Fetch(ctx, obj); err != nil {
			return f, err
		}
		if f.digest, _, err = eventsources.Digest(f.value); err != nil {
			return f, err
		}
		f.after = p.options.After(obj, f.value)
		return f, nil
	})
	if ctx.Err() != nil {
		return
	}
	news := p.values.store(of, result, err, time.Now())
	if news {
		port.Wake(of.name)
	}
	switch {
	case err == nil && !news:
		port.Count(eventsources.ResultEqual, 1)
	case err != nil && !errors.Is(err, errNoComponent):
		port.Count(eventsources.ResultFailed, 1)
	}
	if err == nil {
		port.Answered(time.Now())
	}
}

// Track implements eventsources.EventSource.
func (p *PollEach) Track(ctx context.Context, obj client.Object, _ eventsources.Clusters) {
	name, isWanted, key := client.ObjectKeyFromObject(obj), true, ""
	err := eventsources.CallAuthor(ctx, func(context.Context) error {
		if p.options.When != nil {
			isWanted = p.options.When(obj)
		}
		if isWanted && p.options.Key != nil {
			key = p.options.Key(obj)
		}
		return nil
	})
	switch now := time.Now(); {
	case err != nil:
		p.values.refuse(name, err, now)
	case !isWanted:
		p.values.omit(name)
	default:
		p.values.want(name, key, now)
	}
}

// Refresh fetches the value of a component at once.
func (p *PollEach) Refresh(name types.NamespacedName) { p.values.refresh(name, time.Now()) }

// Forget implements eventsources.EventSource.
func (p *PollEach) Forget(name types.NamespacedName) { p.values.forget(name) }

// State implements eventsources.EventSource.
func (p *PollEach) State(name types.NamespacedName) eventsources.State { return p.values.state(name) }

// Input implements eventsources.EventSource.
func (p *PollEach) Input(_ context.Context, name types.NamespacedName) (eventsources.Input, error) {
	return p.values.input(name)
}

// Get returns the value of a component, and the time at which it was fetched.
func (p *PollEach) Get(name types.NamespacedName) (value any, at time.Time, known bool) {
	return p.values.get(name)
}

// Kind implements eventsources.EventSource.
func (p *PollEach) Kind() eventsources.Kind { return eventsources.KindPollingEach }

// Size implements eventsources.EventSource.
func (p *PollEach) Size() (values, stale int) { return p.values.size() }
