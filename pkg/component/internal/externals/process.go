package externals

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// process is the time of this process, and its calls.
type process struct {
	clock clock.WithTicker
	// lifetime ends when the operator stops. No call begins after that, and the calls under way are completed.
	lifetime context.Context
	calls    sync.WaitGroup
}

func (p *process) now() time.Time { return p.clock.Now() }

// after calls f after a delay, unless the process ends before.
func (p *process) after(delay time.Duration, f func()) {
	timer := p.clock.NewTimer(max(0, delay))
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			f()
		case <-p.lifetime.Done():
		}
	}()
}

// outliving returns a context that ends a grace after the lifetime of the process. The caller calls end.
func (p *process) outliving(grace time.Duration) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.lifetime))
	stop := context.AfterFunc(p.lifetime, func() {
		timer := p.clock.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// recordingRetry is the maximum time between two attempts to record a result after the operator is told to stop.
const recordingRetry = time.Second

// pause waits for a delay, at most until ctx ends. If the operator is told to stop, it waits no longer than for
// recordingRetry.
func (p *process) pause(ctx context.Context, delay time.Duration) {
	stop := p.lifetime.Done()
	if p.lifetime.Err() != nil {
		stop, delay = nil, min(delay, recordingRetry)
	}
	timer := p.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-stop:
	case <-ctx.Done():
	}
}
