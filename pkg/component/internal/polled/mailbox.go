package polled

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/backoff"
	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// MailboxOptions configure a Mailbox.
type MailboxOptions struct {
	// Fetch returns the values that were sent before the start. It may be nil.
	Fetch FetchAll
	// Expire is the time after which a value is dropped; zero or less means never.
	Expire time.Duration
}

// Mailbox receives values for components.
type Mailbox struct {
	eventsources.Once
	options MailboxOptions
	calls   caller

	mu    sync.Mutex
	ended bool
	// port is nil before Run and after its end.
	port   *eventsources.Port
	known  map[types.NamespacedName]bool
	values map[types.NamespacedName]*letter
	// early contains the values that were put for components that are not tracked. Fetched values are not in it.
	early   *early
	warning rate.Sometimes
	// initial holds the state of Fetch; its value is not used.
	initial cell
}

// letter is a received value.
type letter struct {
	cell
	// dropped is set if Drop was called after the value. Then the result of Fetch must not bring it back.
	dropped bool
	expire  *expiry
}

// NewMailbox returns a Mailbox.
func NewMailbox(o MailboxOptions) *Mailbox {
	m := &Mailbox{
		options: o, known: map[types.NamespacedName]bool{}, values: map[types.NamespacedName]*letter{}, early: newEarly(),
		warning: rate.Sometimes{Interval: time.Minute},
	}
	if o.Fetch == nil {
		m.initial.clear()
	}
	return m
}

// Run implements eventsources.EventSource.
func (m *Mailbox) Run(ctx context.Context, port *eventsources.Port) {
	defer m.end()
	m.begin(port)
	for m.options.Fetch != nil && ctx.Err() == nil {
		delay, done := m.ask(ctx, port)
		if done {
			break
		}
		pause(ctx, backoff.Around(delay, laterShare), nil)
	}
	<-ctx.Done()
}

func (m *Mailbox) begin(port *eventsources.Port) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.port = port
}

// ask fetches the values that were sent before the start.
func (m *Mailbox) ask(ctx context.Context, port *eventsources.Port) (retry time.Duration, done bool) {
	fetched, err := fetchCells(ctx, &m.calls, eventsources.RequestTimeout, m.options.Fetch)
	if ctx.Err() != nil {
		return 0, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		port.Count(eventsources.ResultFailed, 1)
		if m.initial.fail(err, time.Now()) {
			m.wakeAll()
		}
		return m.initial.retry(), false
	}
	m.initial.clear()
	port.Answered(time.Now())
	for name, c := range fetched {
		if m.values[name] == nil {
			m.store(name, c.value, c.digest)
		}
	}
	for name, l := range m.values {
		if l.dropped {
			delete(m.values, name)
		}
	}
	m.wakeAll()
	return 0, true
}

// wakeAll wakes all components. The caller holds the lock.
func (m *Mailbox) wakeAll() {
	for name := range m.known {
		m.wakeOne(name)
	}
}

// wakeOne wakes a component, unless the Mailbox does not run. The caller holds the lock.
func (m *Mailbox) wakeOne(name types.NamespacedName) {
	if m.port != nil && m.known[name] {
		m.port.Wake(name)
	}
}

// count counts results, unless the Mailbox does not run. The caller holds the lock.
func (m *Mailbox) count(result eventsources.Result, n int) {
	if m.port != nil {
		m.port.Count(result, n)
	}
}

// Put stores a value for a component. A value for a component that is not tracked is early: it is dropped after
// earlyLifetime, or if there are too many early values.
func (m *Mailbox) Put(name types.NamespacedName, value any) error {
	digest, size, err := eventsources.Digest(value)
	if err != nil {
		return fmt.Errorf("value for component %s: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil
	}
	if m.port != nil {
		m.port.Answered(time.Now())
	}
	news := m.store(name, value, digest)
	switch {
	case !m.known[name]:
		m.storeEarly(name, size)
	case news:
		m.wakeOne(name)
	}
	if !news {
		m.count(eventsources.ResultEqual, 1)
	}
	return nil
}

// store stores a value, and reports whether it is another one. The caller holds the lock.
func (m *Mailbox) store(name types.NamespacedName, value any, digest string) (news bool) {
	l := m.values[name]
	if l == nil {
		l = &letter{}
		m.values[name] = l
	}
	l.dropped = false
	news = l.put(value, digest, time.Now())
	m.expireAfter(name, l, m.options.Expire)
	return news
}

// storeEarly limits the lifetime, the number and the size of early values. The caller holds the lock.
func (m *Mailbox) storeEarly(name types.NamespacedName, size int) {
	if m.options.Expire <= 0 || m.options.Expire > earlyLifetime {
		m.expireAfter(name, m.values[name], earlyLifetime)
	}
	dropped := m.early.add(name, size)
	for _, oldest := range dropped {
		m.remove(oldest)
	}
	m.count(eventsources.ResultDropped, len(dropped))
	if len(dropped) > 0 {
		m.warning.Do(func() {
			log.Log.Info("an event source dropped values, because too many arrived before the first pass over their components",
				"component", dropped[0])
		})
	}
}

// expireAfter drops a value after a time; zero or less means never. The caller holds the lock.
func (m *Mailbox) expireAfter(name types.NamespacedName, l *letter, after time.Duration) {
	l.expire.stop()
	l.expire = nil
	if after <= 0 {
		return
	}
	at := l.at
	l.expire = newExpiry(after, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.values[name] != l || !l.at.Equal(at) {
			return
		}
		if m.early.at[name] != nil {
			m.count(eventsources.ResultDropped, 1)
		}
		m.remove(name)
		m.wakeOne(name)
	})
}

// remove removes a value. The caller holds the lock.
func (m *Mailbox) remove(name types.NamespacedName) {
	if l := m.values[name]; l != nil {
		l.expire.stop()
	}
	m.early.remove(name)
	delete(m.values, name)
}

// Drop removes the value of a component.
func (m *Mailbox) Drop(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.values[name]
	had := l != nil && l.known
	m.remove(name)
	if !m.initial.answered && !m.ended {
		m.values[name] = &letter{dropped: true}
	}
	if had {
		m.wakeOne(name)
	}
}

// Track implements eventsources.EventSource.
func (m *Mailbox) Track(_ context.Context, obj client.Object, _ eventsources.Clusters) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := client.ObjectKeyFromObject(obj)
	if m.known[name] || m.ended {
		return
	}
	m.known[name] = true
	m.early.remove(name)
	if l := m.values[name]; l != nil {
		m.expireAfter(name, l, m.options.Expire)
	}
}

// Forget implements eventsources.EventSource.
func (m *Mailbox) Forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[name] {
		m.remove(name)
	}
	delete(m.known, name)
}

// end drops all values, and those that are put later.
func (m *Mailbox) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.values {
		m.remove(name)
	}
	m.ended, m.port = true, nil
	m.known = map[types.NamespacedName]bool{}
}

// State implements eventsources.EventSource.
func (m *Mailbox) State(types.NamespacedName) eventsources.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.initial.state()
}

// Input implements eventsources.EventSource.
func (m *Mailbox) Input(_ context.Context, name types.NamespacedName) (eventsources.Input, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.values[name]; l != nil && l.known {
		return l.input()
	}
	if !m.initial.answered {
		return m.initial.input()
	}
	return eventsources.Input{}, nil
}

// Get returns the value of a component, and the time at which it arrived.
func (m *Mailbox) Get(name types.NamespacedName) (value any, at time.Time, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.values[name]; l != nil && l.known {
		return l.value, l.at, true
	}
	return nil, time.Time{}, false
}

// Kind implements eventsources.EventSource.
func (m *Mailbox) Kind() eventsources.Kind { return eventsources.KindInbound }

// Size implements eventsources.EventSource.
func (m *Mailbox) Size() (values, stale int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.values {
		if l.known {
			values++
		}
	}
	if m.initial.isStale() {
		stale = len(m.known)
	}
	return values, stale
}
