package externals

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/due"
)

// polls are the next observations of items.
type polls struct {
	process *process
	// observe begins an observation. It is called without the lock.
	observe func(*item)
	// changed gets a signal when the time of an observation was set.
	changed chan struct{}

	mu sync.Mutex
	// queue contains the items with a next observation. accounts contains the account of each of them.
	queue    due.Queue[*item]
	accounts map[*item]*account
}

// poll is the next observation of an item.
type poll struct {
	item *item
	due  time.Time
}

func newPolls(p *process, observe func(*item)) *polls {
	return &polls{process: p, observe: observe, changed: make(chan struct{}, 1), accounts: map[*item]*account{}}
}

// schedule sets the time of the next observation of an item by an account, unless an earlier time is set already.
func (p *polls) schedule(it *item, a *account, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, scheduled := p.queue.At(it); scheduled && !at.Before(known) {
		at = known
	}
	p.queue.Set(it, at)
	p.accounts[it] = a
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *polls) isScheduled(it *item) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, scheduled := p.queue.At(it)
	return scheduled
}

// remove ends the observations of an item.
func (p *polls) remove(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.Remove(it)
	delete(p.accounts, it)
}

// run begins the observations that are due, until ctx ends.
func (p *polls) run(ctx context.Context) {
	for ctx.Err() == nil {
		it, delay := p.pop()
		if it == nil {
			p.await(ctx, delay)
			continue
		}
		p.observe(it)
	}
}

// pop removes and returns the item whose observation is due first. If none is due, it returns the delay until one is.
func (p *polls) pop() (*item, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.process.now()
	if it, found := p.queue.Pop(now); found {
		delete(p.accounts, it)
		return it, 0
	}
	if at, found := p.queue.First(); found {
		return nil, at.Sub(now)
	}
	return nil, idlePause
}

// idlePause is the pause while no observation is scheduled.
const idlePause = time.Hour

// await waits for a delay, until the time of an observation is set, or until ctx ends.
func (p *polls) await(ctx context.Context, delay time.Duration) {
	timer := p.process.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-p.changed:
	case <-ctx.Done():
	}
}

// take removes and returns the observations by an account that are due before a time, by their times. A list makes them
// together.
func (p *polls) take(a *account, before time.Time) []poll {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []poll
	for it, account := range p.accounts {
		if at, _ := p.queue.At(it); account == a && at.Before(before) {
			found = append(found, poll{it, at})
			p.queue.Remove(it)
			delete(p.accounts, it)
		}
	}
	slices.SortFunc(found, func(a, b poll) int { return a.due.Compare(b.due) })
	return found
}
