package sources

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kind is a kind of sources.
type Kind string

// The kinds of sources.
const (
	KindRelated     Kind = "related"
	KindPolling     Kind = "polling"
	KindPollingEach Kind = "polling-each"
	KindInbound     Kind = "inbound"
)

// Result is the effect of a received value, of an event of a related object, or of a request.
type Result string

// The results.
const (
	// ResultWoke is counted for each component that a source woke.
	ResultWoke Result = "woke"
	// ResultEqual is counted for each value, or version of a related object, that equals the last one.
	ResultEqual Result = "equal"
	// ResultFiltered is counted for each event of a related object that Added, Changed or Deleted leaves out.
	ResultFiltered Result = "filtered"
	// ResultFailed is counted for each failed fetch, for each failed list or watch, and for each related object that
	// could not be read after a change.
	ResultFailed Result = "failed"
	// ResultDropped is counted for each received value that was dropped before the first pass over its component.
	ResultDropped Result = "dropped"
)

// Counter counts the results of a source.
type Counter func(of Kind, source string, result Result, n int)

// Count has the current numbers of a source.
type Count struct {
	Name string
	Kind Kind
	// Values is the number of values, or of related objects, and Stale the number of components whose value is not
	// current.
	Values, Stale int
	// Answered is the time of the last fetch, list or received value; zero if there was none.
	Answered time.Time
}

// tally counts the results of one source, and stores the time of its last answer. The zero value does nothing.
type tally struct {
	count    func(Result, int)
	answered *atomic.Int64
}

func (t tally) add(result Result, n int) {
	if t.count != nil && n > 0 {
		t.count(result, n)
	}
}

// answer notes the time of an answer.
func (t tally) answer(at time.Time) {
	if t.answered != nil {
		t.answered.Store(at.UnixNano())
	}
}

// counting returns the host for one source. It counts the results of the source.
func (h Host) counting(r *registered) Host {
	h.tally.answered = &r.answered
	if h.Counter != nil {
		h.tally.count = func(result Result, n int) { h.Counter(r.Kind(), r.name, result, n) }
	}
	wake, tally := h.Wake, h.tally
	h.Wake = func(name types.NamespacedName) {
		tally.add(ResultWoke, 1)
		wake(name)
	}
	return h
}

// Counts returns the current numbers of each source, sorted by name.
func (s *Set) Counts() []Count {
	var counts []Count
	for _, r := range s.all() {
		c := Count{Name: r.name, Kind: r.Kind()}
		c.Values, c.Stale = r.Size()
		if at := r.answered.Load(); at != 0 {
			c.Answered = time.Unix(0, at)
		}
		counts = append(counts, c)
	}
	return counts
}

// Kind implements Source.
func (p *Poll) Kind() Kind { return KindPolling }

// Size implements Source.
func (p *Poll) Size() (values, stale int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all.failures >= toldAfter {
		stale = len(p.tracked)
	}
	return len(p.values), stale
}

// Kind implements Source.
func (p *PollEach) Kind() Kind { return KindPollingEach }

// Size implements Source.
func (p *PollEach) Size() (values, stale int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.polled {
		if of.known {
			values++
		}
		if of.failures >= toldAfter {
			stale++
		}
	}
	return values, stale
}

// Kind implements Source.
func (m *Mailbox) Kind() Kind { return KindInbound }

// Size implements Source.
func (m *Mailbox) Size() (values, stale int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.values {
		if l.known {
			values++
		}
	}
	if m.initial.failures >= toldAfter {
		stale = len(m.known)
	}
	return values, stale
}

// Kind implements Source.
func (r *Related) Kind() Kind { return KindRelated }

// Size implements Source.
func (r *Related) Size() (values, stale int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.informers {
		values += len(i.objects)
	}
	for _, u := range r.users {
		if u.failure != "" || u.informer != nil && u.informer.watch.failure != "" {
			stale++
		}
	}
	return values, stale
}
