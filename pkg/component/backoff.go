package component

import (
	"math/rand/v2"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The delays of retries: the first comes soon, then each is twice as long, up to a limit.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
)

// backoff says how long to wait before the next retry of what goes away by itself. Up to a fifth is taken off at random, so that those that
// fail together are not retried together.
type backoff struct {
	mu     sync.Mutex
	delays map[reconcile.Request]time.Duration
}

func newBackoff() *backoff { return &backoff{delays: map[reconcile.Request]time.Duration{}} }

// When returns the delay of the next retry.
func (b *backoff) When(req reconcile.Request) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	delay := min(lastRetry, max(firstRetry, 2*b.delays[req]))
	b.delays[req] = delay
	return delay - rand.N(delay/5)
}

// Forget makes the next retry the first again.
func (b *backoff) Forget(req reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.delays, req)
}
