package externals

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// polls are the items that are observed again, by the time of their next observation.
type polls struct {
	process *process
	// observe begins an observation. It is called without the lock.
	observe func(*item)

	mu    sync.Mutex
	queue pollQueue
	of    map[*item]*poll
	// changed is signalled when an earlier poll was added.
	changed chan struct{}
}

// poll is the next observation of an item, by an account. Its index is the place in the queue.
type poll struct {
	item    *item
	account *account
	due     time.Time
	index   int
}

func newPolls(p *process, observe func(*item)) *polls {
	return &polls{process: p, observe: observe, of: map[*item]*poll{}, changed: make(chan struct{}, 1)}
}

// schedule sets the time of the next observation of an item by an account, unless an earlier time is set already.
func (p *polls) schedule(it *item, a *account, due time.Time) {
	p.mu.Lock()
	next := p.of[it]
	switch {
	case next == nil:
		next = &poll{item: it, account: a, due: due}
		p.of[it] = next
		heap.Push(&p.queue, next)
	case due.Before(next.due):
		next.due = due
		heap.Fix(&p.queue, next.index)
	}
	next.account = a
	first := p.queue[0] == next
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
	return p.of[it] != nil
}

// remove ends the observations of an item.
func (p *polls) remove(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := p.of[it]; next != nil {
		heap.Remove(&p.queue, next.index)
		delete(p.of, it)
	}
}

// run begins the observations that are due, until ctx ends.
func (p *polls) run(ctx context.Context) {
	for {
		due, wait := p.due()
		for _, it := range due {
			p.observe(it)
		}
		if len(due) > 0 {
			continue // Meanwhile others may have become due.
		}
		timer := p.process.clock.NewTimer(wait)
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

// due removes and returns the items whose observation is due, and the time until the next one is.
func (p *polls) due() (found []*item, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.process.now()
	for len(p.queue) > 0 && !p.queue[0].due.After(now) {
		next, _ := heap.Pop(&p.queue).(*poll)
		delete(p.of, next.item)
		found = append(found, next.item)
	}
	if len(p.queue) == 0 {
		return found, time.Hour
	}
	return found, p.queue[0].due.Sub(now)
}

// take removes and returns the observations by an account that are due before a time. A list makes them together.
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
		heap.Remove(&p.queue, p.of[taken.item].index)
		delete(p.of, taken.item)
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
	*q = (*q)[:len(*q)-1]
	return last
}
