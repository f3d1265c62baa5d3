package execute

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// writeTime is the duration of a write, in the simulated time of synctest.
const writeTime = 10 * time.Millisecond

// writers simulates runs that share a limiter, and counts their concurrent writes.
type writers struct {
	limiter *limiter

	mu             sync.Mutex
	inFlight, peak int
}

// enter adds n to the number of writes in flight.
func (w *writers) enter(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight += n
	w.peak = max(w.peak, w.inFlight)
}

// run simulates a run with n writes, and returns the number of writes that began.
func (w *writers) run(ctx context.Context, stop <-chan struct{}, n int, length func() time.Duration) (made int) {
	c := w.limiter.newShare()
	var wg sync.WaitGroup
	for range n {
		if c.acquire(ctx, stop) != nil {
			break
		}
		made++
		took := length()
		wg.Go(func() {
			defer c.release()
			w.enter(1)
			time.Sleep(took)
			w.enter(-1)
		})
	}
	wg.Wait()
	return made
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// growing returns durations that become slightly longer. So no two writes of a run end at the same moment, which would
// make the order of the free slots random.
func growing(d time.Duration) func() time.Duration {
	return func() time.Duration {
		d += time.Microsecond
		return d
	}
}

// upTo returns random durations of at most d, from the given seed.
func upTo(d time.Duration, seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 0))
	return func() time.Duration { return time.Duration(random.Int64N(int64(d))) + 1 }
}

// expectIdle checks that all slots are free and no run waits.
func (w *writers) expectIdle(t *testing.T, bound int) {
	t.Helper()
	if w.limiter.free != bound || len(w.limiter.waiting) > 0 || w.inFlight != 0 {
		t.Errorf(
			"%d slots are free of %d, %d runs wait, %d writes are in flight",
			w.limiter.free,
			bound,
			len(w.limiter.waiting),
			w.inFlight,
		)
	}
}

func TestASingleRunHasAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writers{limiter: newLimiter(16)}
		begin := time.Now()
		w.run(t.Context(), nil, 1600, always(writeTime))
		if took := time.Since(begin); took != 100*writeTime || w.peak != 16 {
			t.Errorf("the run took %s with at most %d slots, want %s with 16", took, w.peak, 100*writeTime)
		}
		w.expectIdle(t, 16)
	})
}

func TestRunsShareTheSlotsEqually(t *testing.T) {
	for _, runs := range []int{2, 3, 4, 8, 16, 40} {
		synctest.Test(t, func(t *testing.T) {
			const bound = 16
			w := &writers{limiter: newLimiter(bound)}
			ctx, cancel := context.WithTimeout(t.Context(), 200*writeTime)
			defer cancel()
			made := make([]int, runs)
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() { made[i] = w.run(ctx, nil, 1_000_000, upTo(writeTime, uint64(i))) })
			}
			<-ctx.Done()
			wg.Wait()
			all := 0
			for _, n := range made {
				all += n
			}
			for i, n := range made {
				if share := float64(n) * float64(runs) / float64(all); share < 0.8 || share > 1.2 {
					t.Errorf("run %d of %d made %.2f times its fair share of the writes", i, runs, share)
				}
			}
			w.expectIdle(t, bound)
		})
	}
}

func TestANewRunGetsTheNextFreeSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writers{limiter: newLimiter(6)}
		released := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				c := w.limiter.newShare()
				for range 100 {
					if c.acquire(t.Context(), nil) != nil {
						return
					}
					wg.Go(func() { <-released; c.release() })
				}
			})
		}
		synctest.Wait()
		// The first run holds all slots. This run releases two of them, and each of the other runs gets a slot.
		released <- struct{}{}
		released <- struct{}{}
		synctest.Wait()
		newcomer, got := w.limiter.newShare(), false
		wg.Go(func() {
			if newcomer.acquire(t.Context(), nil) == nil {
				got = true
				newcomer.release()
			}
		})
		synctest.Wait()
		if got {
			t.Error("the new run got a slot although none was free")
		}
		released <- struct{}{}
		synctest.Wait()
		if !got {
			t.Error("the released slot was given to another run than the new run")
		}
		close(released)
		wg.Wait()
		w.expectIdle(t, 6)
	})
}

func TestASmallRunIsNotDelayedByALargeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writers{limiter: newLimiter(16)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		go func() { done <- w.run(ctx, nil, 10_000, growing(writeTime)) }()
		time.Sleep(5*writeTime + writeTime/2)
		begin := time.Now()
		w.run(t.Context(), nil, 20, growing(writeTime))
		// Without the other run, the 20 writes take the time of two writes.
		if took := time.Since(begin); took > 4*writeTime {
			t.Errorf("20 writes took %s beside 10,000 others, want at most %s", took, 4*writeTime)
		}
		cancel()
		<-done
		w.expectIdle(t, 16)
	})
}

func TestSlotsAreNotLost(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			bound := 1 + random.IntN(16)
			w := &writers{limiter: newLimiter(bound)}
			var wg sync.WaitGroup
			for range 1 + random.IntN(30) {
				ctx, cancel := context.WithCancel(t.Context())
				stop := make(chan struct{})
				begin, n, lengths := time.Duration(
					random.IntN(20),
				)*writeTime/7, random.IntN(
					200,
				), upTo(
					writeTime,
					random.Uint64(),
				)
				switch random.IntN(3) {
				case 0:
					time.AfterFunc(time.Duration(random.IntN(50))*writeTime/7, cancel)
				case 1:
					time.AfterFunc(time.Duration(random.IntN(50))*writeTime/7, func() { close(stop) })
				}
				wg.Go(func() {
					defer cancel()
					time.Sleep(begin)
					made := w.run(ctx, stop, n, lengths)
					if made < n && ended(ctx, stop) == nil {
						t.Errorf("seed %d: a run made %d of %d writes and was not ended", seed, made, n)
					}
				})
			}
			wg.Wait()
			if w.peak > bound {
				t.Errorf("seed %d: %d writes were in flight, the limit is %d", seed, w.peak, bound)
			}
			w.expectIdle(t, bound)
		})
	}
}

func TestAWaitingRunEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newLimiter(1)
		holder := limiter.newShare()
		if err := holder.acquire(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop := make(chan struct{})
		time.AfterFunc(writeTime, cancel)
		time.AfterFunc(2*writeTime, func() { close(stop) })
		begin := time.Now()
		if err := limiter.newShare().acquire(ctx, nil); !errors.Is(err, context.Canceled) ||
			time.Since(begin) != writeTime {
			t.Errorf("acquire returned %v after %s, want context.Canceled at the end of its context", err, time.Since(begin))
		}
		if err := limiter.newShare().acquire(t.Context(), stop); !errors.Is(err, errStopped) ||
			time.Since(begin) != 2*writeTime {
			t.Errorf("acquire returned %v after %s, want errStopped when the run is stopped", err, time.Since(begin))
		}
		holder.release()
		if limiter.free != 1 {
			t.Error("the slot is not free after the run released it")
		}
	})
}

func TestAnEndedRunGetsNoSlot(t *testing.T) {
	limiter := newLimiter(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop := make(chan struct{})
	close(stop)
	if limiter.newShare().acquire(ctx, nil) == nil || limiter.newShare().acquire(t.Context(), stop) == nil {
		t.Error("a run that has ended took a free slot")
	}
}

// BenchmarkLimiter measures the cost of a slot while several runs wait.
func BenchmarkLimiter(b *testing.B) {
	limiter := newLimiter(16)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := limiter.newShare()
			for range b.N / 8 {
				if c.acquire(b.Context(), nil) == nil {
					go c.release()
				}
			}
		})
	}
	wg.Wait()
}
