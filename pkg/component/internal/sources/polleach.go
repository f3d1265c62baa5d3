package sources

import (
	"container/heap"
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// Key identifies what is fetched. When it changes, the value is forgotten. It may be nil.
	Key func(client.Object) string
	// Timeout is the timeout of a fetch.
	Timeout time.Duration
}

// PollEach asks a service for the value of each component, at an interval of the component.
type PollEach struct {
	single
	options EachOptions
	kick    chan struct{}
	slots   chan struct{}

	mu     sync.Mutex
	polled map[types.NamespacedName]*polled
	queue  dueQueue
}

// polled is a component with a value. The lock of the PollEach guards it.
type polled struct {
	cell
	name types.NamespacedName
	key  string
	// absent is set if When is false.
	absent bool
	due    time.Time
	// index is the position in the queue, -1 if the component is not in it.
	index int
	// fetching is set during a fetch, and again requests another one at its end. spread is set after the first success.
	fetching, again, spread bool
	calls                   *caller
}

// NewPollEach returns a PollEach.
func NewPollEach(o EachOptions) *PollEach {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	return &PollEach{
		options: o, kick: make(chan struct{}, 1), slots: make(chan struct{}, MaxFetches),
		polled: map[types.NamespacedName]*polled{},
	}
}

// Run implements Source.
func (p *PollEach) Run(ctx context.Context, h Host) {
	defer p.end()
	for {
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
			p.ask(ctx, h, next)
		}()
	}
}

// await waits until a fetch is due, and returns its component. It returns nil when ctx ends.
func (p *PollEach) await(ctx context.Context) *polled {
	for {
		next, delay := p.pop(time.Now())
		if next != nil {
			return next
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-p.kick:
		}
		timer.Stop()
	}
}

// pop returns the component whose fetch is due first, or the delay until one is due.
func (p *PollEach) pop(now time.Time) (*polled, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil, time.Hour
	}
	if wait := p.queue[0].due.Sub(now); wait > 0 {
		return nil, wait
	}
	next := p.queue[0]
	heap.Pop(&p.queue)
	next.fetching = true
	return next, 0
}

// fetched is the result of a fetch.
type fetched struct {
	value  any
	digest string
	// after is the delay before the next fetch.
	after time.Duration
}

// ask fetches the value of a component once.
func (p *PollEach) ask(ctx context.Context, h Host, of *polled) {
	result, err := call(ctx, of.calls, p.options.Timeout, func(ctx context.Context) (f fetched, err error) {
		obj, err := h.Load(ctx, of.name)
		if err != nil {
			return f, err
		}
		if f.value, err = p.options.Fetch(ctx, obj); err != nil {
			return f, err
		}
		if f.digest, err = digestOf(f.value); err != nil {
			return f, err
		}
		f.after = p.options.After(obj, f.value)
		return f, nil
	})
	if ctx.Err() != nil {
		return
	}
	news := p.store(of, result, err)
	if news {
		h.Wake(of.name)
	}
	switch {
	case err == nil && !news:
		h.tally.add(ResultEqual, 1)
	case err != nil && !apierrors.IsNotFound(err):
		h.tally.add(ResultFailed, 1)
	}
	if err == nil {
		h.tally.answer(time.Now())
	}
}

// store stores the result of a fetch, schedules the next one, and reports whether the component has to be told.
func (p *PollEach) store(of *polled, result fetched, err error) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of.fetching = false
	if p.polled[of.name] != of {
		return false
	}
	now := time.Now()
	switch {
	case of.again:
		// The result may be of a previous key.
		of.again = false
		p.schedule(of, now)
		return false
	case apierrors.IsNotFound(err):
		p.schedule(of, now.Add(lastRetry))
		return false
	case err != nil:
		news = of.fail(err, now)
		p.schedule(of, now.Add(spread(of.retry(), laterShare)))
		return news
	}
	news = of.put(result.value, result.digest, now)
	if result.after > 0 {
		share := laterShare
		if !of.spread {
			share, of.spread = firstShare, true
		}
		p.schedule(of, now.Add(spread(result.after, share)))
	}
	return news
}

// schedule sets the time of the next fetch. The caller holds the lock.
func (p *PollEach) schedule(of *polled, due time.Time) {
	of.due = due
	if of.index >= 0 {
		heap.Fix(&p.queue, of.index)
	} else {
		heap.Push(&p.queue, of)
	}
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// Track implements Source.
func (p *PollEach) Track(ctx context.Context, obj client.Object, _ Clusters) {
	name, wanted, key := client.ObjectKeyFromObject(obj), true, ""
	err := contain(ctx, func(context.Context) error {
		if p.options.When != nil {
			wanted = p.options.When(obj)
		}
		if wanted && p.options.Key != nil {
			key = p.options.Key(obj)
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.polled[name]
	switch {
	case err != nil:
		of = p.replace(name, "", true)
		of.fail(err, time.Now())
		of.failures = toldAfter
	case !wanted:
		if of == nil || !of.absent || of.failures > 0 {
			p.replace(name, "", true).clear()
		}
	case of == nil || of.absent || of.key != key:
		p.schedule(p.replace(name, key, false), time.Now())
	}
}

// replace makes a new entry for a component. The caller holds the lock.
func (p *PollEach) replace(name types.NamespacedName, key string, absent bool) *polled {
	calls := &caller{}
	if former := p.polled[name]; former != nil {
		calls = former.calls
		p.drop(former)
	}
	p.polled[name] = &polled{name: name, key: key, absent: absent, index: -1, calls: calls}
	return p.polled[name]
}

// drop removes an entry. The caller holds the lock.
func (p *PollEach) drop(of *polled) {
	delete(p.polled, of.name)
	if of.index >= 0 {
		heap.Remove(&p.queue, of.index)
	}
}

// Refresh fetches the value of a component at once.
func (p *PollEach) Refresh(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.polled[name]
	switch {
	case of == nil || of.absent:
	case of.fetching:
		of.again = true
	default:
		p.schedule(of, time.Now())
	}
}

// Forget implements Source.
func (p *PollEach) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.polled[name]; of != nil {
		p.drop(of)
	}
}

// end drops all values.
func (p *PollEach) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polled, p.queue = map[types.NamespacedName]*polled{}, nil
}

// State implements Source.
func (p *PollEach) State(name types.NamespacedName) State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.polled[name]; of != nil {
		return of.state()
	}
	return State{Waits: true}
}

// Input implements Source.
func (p *PollEach) Input(_ context.Context, name types.NamespacedName) (Input, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.polled[name]; of != nil {
		return of.input()
	}
	return Input{}, errNoValue
}

// Get returns the value of a component, and the time at which it was fetched.
func (p *PollEach) Get(name types.NamespacedName) (value any, at time.Time, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.polled[name]; of != nil && of.known {
		return of.value, of.at, true
	}
	return nil, time.Time{}, false
}

// dueQueue is a heap of components by the time of their next fetch.
type dueQueue []*polled

// Len implements heap.Interface.
func (q dueQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q dueQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

// Swap implements heap.Interface.
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *dueQueue) Push(x any) {
	of, ok := x.(*polled)
	if ok {
		of.index = len(*q)
		*q = append(*q, of)
	}
}

// Pop implements heap.Interface.
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	of := (*q)[last]
	of.index = -1
	(*q)[last], *q = nil, (*q)[:last]
	return of
}
