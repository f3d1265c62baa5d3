package externals

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// polls are the next observations of items.
type polls struct {
	process *process
	// observe begins an observation. It is called without the lock.
	observe func(*item)
	// queue returns each item with a next observation at its time. It may also return an item earlier, or one that was
	// removed.
	queue workqueue.TypedDelayingInterface[*item]

	mu   sync.Mutex
	next map[*item]poll
}

// poll is the next observation of an item, by an account.
type poll struct {
	item    *item
	account *account
	due     time.Time
}

func newPolls(p *process, observe func(*item)) *polls {
	queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[*item]{Clock: p.clock})
	return &polls{process: p, observe: observe, queue: queue, next: map[*item]poll{}}
}

// schedule sets the time of the next observation of an item by an account, unless an earlier time is set already.
func (p *polls) schedule(it *item, a *account, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next, scheduled := p.next[it]; scheduled && !due.Before(next.due) {
		due = next.due
	} else {
		p.queue.AddAfter(it, due.Sub(p.process.now()))
	}
	p.next[it] = poll{it, a, due}
}

func (p *polls) isScheduled(it *item) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, scheduled := p.next[it]
	return scheduled
}

// remove ends the observations of an item.
func (p *polls) remove(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, it)
}

// run begins the observations that are due, until ctx ends.
func (p *polls) run(ctx context.Context) {
	defer context.AfterFunc(ctx, p.queue.ShutDown)()
	for {
		it, ends := p.queue.Get()
		if ends {
			return
		}
		p.queue.Done(it)
		if p.takeDue(it) {
			p.observe(it)
		}
	}
}

// takeDue removes the next observation of an item if it is due, and reports whether it was.
func (p *polls) takeDue(it *item) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, scheduled := p.next[it]
	if !scheduled {
		return false
	}
	if early := next.due.Sub(p.process.now()); early > 0 {
		p.queue.AddAfter(it, early)
		return false
	}
	delete(p.next, it)
	return true
}

// take removes and returns the observations by an account that are due before a time, by their times. A list makes them
// together.
func (p *polls) take(a *account, before time.Time) []poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []poll
	for it, next := range p.next {
		if next.account == a && next.due.Before(before) {
			found = append(found, next)
			delete(p.next, it)
		}
	}
	slices.SortFunc(found, func(a, b poll) int { return a.due.Compare(b.due) })
	return found
}

// spread returns an interval with a random part of a tenth, so that the polls of many externals do not coincide.
func spread(interval time.Duration) time.Duration {
	return interval - interval/20 + rand.N(interval/10+1)
}
