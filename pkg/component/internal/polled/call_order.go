package polled

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"
)

// maxQueued is the maximum number of calls for a component that run or wait. Waiting calls have bodies in memory, so
// more of them would keep out the calls for other components.
const maxQueued = 4

// callOrder lets the calls for a component run one after the other.
type callOrder struct {
	mu sync.Mutex
	of map[types.NamespacedName]*callsOf
}

// callsOf are the calls for one component.
type callsOf struct {
	running *semaphore.Weighted
	// queued counts the calls that run or wait.
	queued int
}

// enter waits for the earlier calls for a component. The caller calls leave at the end of its call. The error is
// errBusy if too many calls wait already, or that of ctx.
func (l *callOrder) enter(ctx context.Context, name types.NamespacedName) (leave func(), err error) {
	of, err := l.join(name)
	if err != nil {
		return nil, err
	}
	if err := of.running.Acquire(ctx, 1); err != nil {
		l.leave(name, of)
		return nil, err
	}
	return func() {
		of.running.Release(1)
		l.leave(name, of)
	}, nil
}

func (l *callOrder) join(name types.NamespacedName) (*callsOf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.of[name]
	if of == nil {
		of = &callsOf{running: semaphore.NewWeighted(1)}
		if l.of == nil {
			l.of = map[types.NamespacedName]*callsOf{}
		}
		l.of[name] = of
	}
	if of.queued >= maxQueued {
		return nil, errBusy
	}
	of.queued++
	return of, nil
}

func (l *callOrder) leave(name types.NamespacedName, of *callsOf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.queued--; of.queued == 0 {
		delete(l.of, name)
	}
}
