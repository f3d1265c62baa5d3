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

// writeTime is how long a write takes in these tests, in the time of the bubble.
const writeTime = 10 * time.Millisecond

// writers measures runs that write through the same turns.
type writers struct {
	limiter *limiter

	mu          sync.Mutex
	under, peak int
}

// enter counts writes under way.
func (w *writers) enter(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under += n
	w.peak = max(w.peak, w.under)
}

// run makes n writes as one run does, and tells whether it made all of them.
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

// growing returns lengths of which each is a bit longer than the one before it, so that no two writes of a run end at the same moment: of
// those that do, chance says who takes the slots.
func growing(d time.Duration) func() time.Duration {
	return func() time.Duration {
		d += time.Microsecond
		return d
	}
}

// upTo returns lengths that the seed determines; it is for one run, which asks for one after the other.
func upTo(d time.Duration, seed uint64) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, 0))
	return func() time.Duration { return time.Duration(random.Int64N(int64(d))) + 1 }
}

// expectIdle checks that all slots are free again, and nobody waits.
func (w *writers) expectIdle(t *testing.T, bound int) {
	t.Helper()
	if w.limiter.free != bound || len(w.limiter.waiting) > 0 || w.under != 0 {
		t.Errorf("%d slots are free of %d, %d runs wait, %d writes are under way", w.limiter.free, bound, len(w.limiter.waiting), w.under)
	}
}

func TestASingleRunHasAllSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writers{limiter: newLimiter(16)}
		begin := time.Now()
		w.run(t.Context(), nil, 1600, always(writeTime))
		if took := time.Since(begin); took != 100*writeTime || w.peak != 16 {
			t.Errorf("it took %s with %d slots at the most, want %s with 16", took, w.peak, 100*writeTime)
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
					t.Errorf("run %d of %d made %.2f of its share", i, runs, share)
				}
			}
			w.expectIdle(t, bound)
		})
	}
}

func TestANewcomerGetsItsFirstSlotWithTheNextThatIsFree(t *testing.T) {
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
		// The first took all there were; each of the others gets one.
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
			t.Error("it got a slot although none was free")
		}
		released <- struct{}{}
		synctest.Wait()
		if !got {
			t.Error("another run was served before it")
		}
		close(released)
		wg.Wait()
		w.expectIdle(t, 6)
	})
}

func TestASmallRunIsDoneInItsShareOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writers{limiter: newLimiter(16)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		go func() { done <- w.run(ctx, nil, 10_000, growing(writeTime)) }()
		time.Sleep(5*writeTime + writeTime/2)
		begin := time.Now()
		w.run(t.Context(), nil, 20, growing(writeTime))
		// Alone it would take two writes' time.
		if took := time.Since(begin); took > 4*writeTime {
			t.Errorf("20 writes took %s beside 10,000 others, want %s at the most", took, 4*writeTime)
		}
		cancel()
		<-done
		w.expectIdle(t, 16)
	})
}

func TestNeitherSlotsNorTurnsAreLost(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			bound := 1 + random.IntN(16)
			w := &writers{limiter: newLimiter(bound)}
			var wg sync.WaitGroup
			for range 1 + random.IntN(30) {
				ctx, cancel := context.WithCancel(t.Context())
				stop := make(chan struct{})
				begin, n, lengths := time.Duration(random.IntN(20))*writeTime/7, random.IntN(200), upTo(writeTime, random.Uint64())
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
						t.Errorf("seed %d: a run made %d of %d writes, and nobody ended it", seed, made, n)
					}
				})
			}
			wg.Wait()
			if w.peak > bound {
				t.Errorf("seed %d: %d writes were under way, the bound is %d", seed, w.peak, bound)
			}
			w.expectIdle(t, bound)
		})
	}
}

func TestWhoWaitsLeavesAtOnce(t *testing.T) {
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
		if err := limiter.newShare().acquire(ctx, nil); !errors.Is(err, context.Canceled) || time.Since(begin) != writeTime {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		if err := limiter.newShare().acquire(t.Context(), stop); !errors.Is(err, errStopped) || time.Since(begin) != 2*writeTime {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		holder.release()
		if limiter.free != 1 {
			t.Error("the slot is lost")
		}
	})
}

func TestNothingBeginsOnceARunIsEnded(t *testing.T) {
	limiter := newLimiter(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop := make(chan struct{})
	close(stop)
	if limiter.newShare().acquire(ctx, nil) == nil || limiter.newShare().acquire(t.Context(), stop) == nil {
		t.Error("a slot was free, and it was taken")
	}
}

// BenchmarkTurns is the cost of a slot where several runs want more than there are.
func BenchmarkTurns(b *testing.B) {
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
