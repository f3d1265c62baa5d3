package externals

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// polls are the externals that are observed again, by the time of their next observation.
type polls struct {
	manager *Manager

	mu    sync.Mutex
	queue pollQueue
	// changed is signalled when an earlier poll was added.
	changed chan struct{}
}

// poll is the next observation of an item. Its index is -1 if it is not in the queue. The lock of polls guards it.
type poll struct {
	item    *item
	account *account
	due     time.Time
	index   int
}

func newPolls(m *Manager) *polls { return &polls{manager: m, changed: make(chan struct{}, 1)} }

// schedule sets the time of the next observation of an item, which has the given account. An earlier time that is set
// already stays, if keep is set.
func (p *polls) schedule(it *item, a *account, due time.Time, keep bool) {
	p.mu.Lock()
	it.poll.account = a
	switch {
	case it.poll.index < 0:
		it.poll.due = due
		heap.Push(&p.queue, &it.poll)
	case !keep || due.Before(it.poll.due):
		it.poll.due = due
		heap.Fix(&p.queue, it.poll.index)
	}
	first := p.queue[0] == &it.poll
	p.mu.Unlock()
	if first {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// isScheduled reports whether the next observation of an item is scheduled.
func (p *polls) isScheduled(it *item) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return it.poll.index >= 0
}

// remove ends the observations of an item.
func (p *polls) remove(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if it.poll.index >= 0 {
		heap.Remove(&p.queue, it.poll.index)
	}
}

// run begins the observations that are due, until ctx ends.
func (p *polls) run(ctx context.Context) {
	for {
		wait := time.Hour
		for _, it := range p.due() {
			it.observe()
		}
		p.mu.Lock()
		if len(p.queue) > 0 {
			wait = p.queue[0].due.Sub(p.manager.now())
		}
		p.mu.Unlock()
		timer := p.manager.options.Clock.NewTimer(max(0, wait))
		select {
		case <-timer.C():
		case <-p.changed:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// due removes and returns the items whose observation is due.
func (p *polls) due() []*item {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*item
	for now := p.manager.now(); len(p.queue) > 0 && !p.queue[0].due.After(now); {
		next, _ := heap.Pop(&p.queue).(*poll)
		found = append(found, next.item)
	}
	return found
}

// take removes and returns the observations of an account that are due before a time. A list makes them together.
func (p *polls) take(a *account, before time.Time) []poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []poll
	for _, next := range p.queue {
		if next.account == a && next.due.Before(before) {
			found = append(found, *next)
		}
	}
	for _, taken := range found {
		heap.Remove(&p.queue, taken.item.poll.index)
	}
	return found
}

// spread returns an interval with a random part of a tenth, so that the polls of many externals do not coincide.
func spread(interval time.Duration) time.Duration {
	return interval - interval/20 + rand.N(interval/10+1)
}

// pollQueue implements heap.Interface.
type pollQueue []*poll

func (q pollQueue) Len() int           { return len(q) }
func (q pollQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

func (q pollQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *pollQueue) Push(x any) {
	next, _ := x.(*poll)
	next.index = len(*q)
	*q = append(*q, next)
}

// Pop implements heap.Interface.
func (q *pollQueue) Pop() any {
	last := (*q)[len(*q)-1]
	last.index = -1
	*q = (*q)[:len(*q)-1]
	return last
}
