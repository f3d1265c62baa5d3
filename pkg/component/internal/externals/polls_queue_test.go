package externals

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// newQueue returns polls with the real clock, and the items that were observed, with the times since the start.
func newQueue() (*polls, map[*item][]time.Duration) {
	begin, observed := time.Now(), map[*item][]time.Duration{}
	p := newPolls(&process{clock: clock.RealClock{}}, func(it *item) {
		observed[it] = append(observed[it], time.Since(begin))
	})
	return p, observed
}

func TestAnItemIsObservedOnceAtItsEarliestTime(t *testing.T) {
	for name, tc := range map[string]struct {
		times []time.Duration
		want  []time.Duration
	}{
		"one time":               {[]time.Duration{time.Minute}, []time.Duration{time.Minute}},
		"an earlier time later":  {[]time.Duration{time.Minute, time.Second}, []time.Duration{time.Second}},
		"a later time later":     {[]time.Duration{time.Second, time.Minute}, []time.Duration{time.Second}},
		"a time that has passed": {[]time.Duration{-time.Second}, []time.Duration{0}},
		"no time":                {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, observed := newQueue()
				ctx, stop := context.WithCancel(t.Context())
				go p.run(ctx)
				synctest.Wait()
				it, other := &item{}, &item{}
				p.schedule(other, nil, time.Now().Add(30*time.Second))
				for _, at := range tc.times {
					p.schedule(it, nil, time.Now().Add(at))
				}
				if p.isScheduled(it) != (len(tc.times) > 0) {
					t.Error("it is scheduled:", p.isScheduled(it))
				}
				time.Sleep(2 * time.Hour)
				if got := observed[it]; !slices.Equal(got, tc.want) {
					t.Errorf("observed at %v, want %v", got, tc.want)
				}
				if got := observed[other]; !slices.Equal(got, []time.Duration{30 * time.Second}) {
					t.Errorf("the other item is observed at %v", got)
				}
				if len(p.accounts) > 0 || p.queue.Len() > 0 {
					t.Errorf("%d and %d polls are left", len(p.accounts), p.queue.Len())
				}
				stop()
			})
		})
	}
}

func TestARemovedItemIsNotObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, observed := newQueue()
		ctx, stop := context.WithCancel(t.Context())
		go p.run(ctx)
		it := &item{}
		p.remove(it)
		p.schedule(it, nil, time.Now().Add(time.Second))
		p.remove(it)
		time.Sleep(time.Hour)
		if len(observed) > 0 || p.isScheduled(it) {
			t.Error("it was observed")
		}
		stop()
	})
}

func TestARemovedItemIsObservedAtItsNewTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, observed := newQueue()
		ctx, stop := context.WithCancel(t.Context())
		go p.run(ctx)
		it := &item{}
		p.schedule(it, nil, time.Now().Add(time.Second))
		p.remove(it)
		p.schedule(it, nil, time.Now().Add(time.Minute))
		time.Sleep(time.Hour)
		if !slices.Equal(observed[it], []time.Duration{time.Minute}) {
			t.Errorf("observed at %v, want at the new time only", observed[it])
		}
		stop()
	})
}

// A list makes the observations of its account that are due soon, and no others.
func TestAListTakesTheObservationsOfItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newQueue()
		mine, theirs := &account{}, &account{}
		soon, late, other, moved := &item{}, &item{}, &item{}, &item{}
		p.schedule(soon, mine, time.Now().Add(time.Second))
		p.schedule(late, mine, time.Now().Add(time.Minute))
		p.schedule(other, theirs, time.Now().Add(time.Second))
		p.schedule(moved, theirs, time.Now().Add(time.Second))
		p.schedule(moved, mine, time.Now().Add(time.Hour))
		var taken []*item
		for _, next := range p.take(mine, time.Now().Add(30*time.Second)) {
			taken = append(taken, next.item)
		}
		if len(taken) != 2 || !slices.Contains(taken, soon) || !slices.Contains(taken, moved) {
			t.Errorf("%d are taken", len(taken))
		}
		if p.isScheduled(soon) || p.isScheduled(moved) || !p.isScheduled(late) || !p.isScheduled(other) {
			t.Error("others are taken, or those that are taken are left")
		}
	})
}
