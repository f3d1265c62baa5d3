package externals_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// The tests have the time-out of newWorld.
const timeout = 10 * time.Second

// paused lets a process store the intents of its actions, and pauses it for a time before it makes the calls. The
// returned function waits for the end of the passes of the process.
func paused(w *world, pause time.Duration, passes func()) (wait func()) {
	w.retries = true
	w.beforeRun = func() {
		w.beforeRun = nil
		time.Sleep(pause)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		passes()
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	return func() { <-done }
}

func TestAProcessThatWasPausedBeforeACreateDoesNotMakeIt(t *testing.T) {
	forKinds(t, []string{"FindableThing", "NamedThing"}, func(t *testing.T, w *world, kind string) {
		wait := paused(w, 5*time.Minute, func() { w.operate(6*time.Minute, thing(kind, "a")) })
		b := w.another(clock.RealClock{})
		b.operate(time.Minute, thing(kind, "a"))
		b.expect("a", b.waiting, "")
		wait()
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
		b.kill()
	})
}

// A create with the same token is one create only for some time.
func TestACreateIsNotRepeatedAfterItsTokenIsForgotten(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.options.IdempotentFor, w.options.Rate, w.options.Burst = time.Minute, 0.01, 1
		w.drivers = w.newDrivers()
		w.cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{After: errors.New("connection reset")}
		})
		w.operate(10*time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "CreateUncertain")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}

// The create of the first process begins at the end of its time-out, and takes effect at the end of the next one.
func TestTheLatestCreateOfAnotherProcessIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		skew   time.Duration
		settle time.Duration
	}{
		"with the same clock": {settle: 5 * time.Second}, "with a clock that is ahead": {
			settle: 5 * time.Second,
			skew:   4 * time.Minute,
		},
		"with a clock that is behind": {settle: 5 * time.Second, skew: -24 * time.Hour},
		"without a settle time":       {settle: -1},
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, []string{"FindableThing"}, func(t *testing.T, w *world, kind string) {
				w.options.Settle = tc.settle
				w.drivers = w.newDrivers()
				w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
					if c.Method != "Create" || w.cloud.Calls("Create") > 1 {
						return componenttest.CloudFault{}
					}
					slow := make(chan struct{})
					time.AfterFunc(timeout-time.Second, func() { close(slow) })
					return componenttest.CloudFault{Wait: slow, After: errors.New("connection reset")}
				})
				wait := paused(w, timeout-time.Second, func() {
					w.pass(false,
						w.render([]*unstructured.Unstructured{thing(kind, "a")}))
				})
				b := w.another(skewed{by: tc.skew})
				b.operate(time.Minute, thing(kind, "a"))
				b.expect("a", b.waiting, "")
				wait()
				if effects := w.cloud.Effects("Create"); effects != 1 {
					t.Errorf("%d creates", effects)
				}
				b.kill()
			})
		})
	}
}

// A process is paused, and makes its create at the end of its window. Meanwhile somebody removes the Secret with the
// states, and another process takes over.
func TestTheCreateOfAnotherProcessIsFoundAlthoughItsStateIsLost(t *testing.T) {
	for _, creation := range []int{1, 2} {
		t.Run(fmt.Sprint("creation ", creation), func(t *testing.T) {
			forKinds(t, []string{"FindableThing", "NamedThing"}, func(t *testing.T, w *world, kind string) {
				if creation == 2 {
					w.operate(time.Minute, thing(kind, "a"))
					w.cloud.Remove(w.cloud.Things()[0].ID)
				}
				begun, done := make(chan struct{}), make(chan struct{})
				w.retries = true
				w.beforeRun = func() {
					w.beforeRun = nil
					close(begun)
					time.Sleep(timeout - time.Second)
				}
				go func() {
					defer close(done)
					w.operate(5*time.Minute, thing(kind, "a"))
				}()
				<-begun
				w.outdated.Store(true)
				clear(w.server.Secrets)
				b := w.another(clock.RealClock{})
				b.operate(2*time.Minute, thing(kind, "a"))
				b.expect("a", b.waiting, "")
				<-done
				if effects := w.cloud.Effects("Create"); effects != creation {
					t.Errorf("%d creates", effects)
				}
				b.kill()
			})
		})
	}
}

func TestAnOldIntentIsNotWaitedFor(t *testing.T) {
	forKinds(t, []string{"FindableThing"}, func(_ *testing.T, w *world, kind string) {
		wait := paused(w, time.Hour, func() { w.operate(time.Minute, thing(kind, "a")) })
		time.Sleep(10 * time.Minute)
		b := w.another(clock.RealClock{})
		b.operate(timeout, thing(kind, "a"))
		b.expect("a", b.waiting, "")
		wait()
		b.kill()
	})
}

// pausable are things that a paused process does not observe.
type pausable struct {
	componenttest.NamedThings

	paused *atomic.Bool
}

// Observe implements external.Kind.
func (k pausable) Observe(ctx context.Context, r external.Ref[componenttest.ThingSpec]) (componenttest.Thing, error) {
	if k.paused.Load() {
		return componenttest.Thing{}, errors.New("paused")
	}
	return k.NamedThings.Observe(ctx, r)
}

// While the process is paused, another one deletes the external, and creates another one with the same id.
func TestAProcessThatWasPausedBeforeADeleteDoesNotMakeIt(t *testing.T) {
	for name, pause := range map[string]func(w *world){
		"between the record and the call": func(w *world) { w.pass(true, nil) },
		"before a repeated call": func(w *world) {
			w.beforeRun = nil
			w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
				if c.Method != "Delete" || w.cloud.Calls("Delete") > 1 {
					return componenttest.CloudFault{}
				}
				return componenttest.CloudFault{Before: errors.New("503")}
			})
			w.pass(true, nil)
			time.Sleep(5 * time.Minute)
			w.pass(true, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, []string{"NamedThing"}, func(t *testing.T, w *world, kind string) {
				things := pausable{componenttest.NamedThings{Things: componenttest.Things{Cloud: w.cloud}}, &atomic.Bool{}}
				w.drivers = []external.Driver{external.Of(kind, things, w.options)}
				w.apply(thing(kind, "a"))
				things.paused.Store(true)
				wait := paused(w, 5*time.Minute, func() { pause(w) })
				w.outdated.Store(true)
				b := w.another(clock.RealClock{})
				for range 10 {
					b.remove()
					time.Sleep(5 * time.Second)
				}
				if len(b.inventory) > 0 {
					t.Fatalf("not deleted: %v", b.inventory)
				}
				b.operate(time.Minute, thing(kind, "b"))
				b.expect("b", b.waiting, "")
				wait()
				time.Sleep(time.Second)
				w.expect("b", b.waiting, "")
				b.kill()
			})
		})
	}
}

// The delete of the first process takes effect as late as it can, after the second process has deleted the external.
func TestAnExternalIsNotCreatedAgainBeforeTheDeleteOfAnotherProcessEnded(t *testing.T) {
	forKinds(t, []string{"NamedThing"}, func(_ *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method != "Delete" || w.cloud.Calls("Delete") < 2 {
				return componenttest.CloudFault{}
			}
			slow := make(chan struct{})
			time.AfterFunc(timeout-time.Second, func() { close(slow) })
			return componenttest.CloudFault{Wait: slow}
		})
		wait := paused(w, timeout-time.Second, func() { w.pass(true, nil) })
		b := w.another(clock.RealClock{})
		for range 30 {
			if b.remove(); len(b.inventory) == 0 {
				break
			}
			time.Sleep(time.Second)
		}
		b.operate(time.Minute, thing(kind, "b"))
		b.expect("b", b.waiting, "")
		wait()
		b.kill()
	})
}

// More externals than the limits of their account permit within a time-out are created, once each, and their updates
// are no conflicts.
func TestALongQueueIsWorkedOff(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		const count = 60
		w.options.Rate, w.options.Burst, w.options.Poll = 1, 1, time.Hour
		w.options.Timeout = 5 * time.Second
		w.drivers = w.newDrivers()
		for _, value := range []string{"a", "b"} {
			w.operate(10*time.Minute, things(kind, value, count)...)
			for _, made := range w.cloud.Things() {
				if made.Value != value {
					t.Fatalf("%v has not the value %s", made, value)
				}
			}
			if len(w.conflicts) > 0 || len(w.waiting) > 0 {
				t.Fatalf("conflicts %v, waiting %v", w.conflicts, w.waiting)
			}
		}
		if creates, updates := w.cloud.Calls("Create"), w.cloud.Calls("Update"); creates != count || updates != count {
			t.Errorf("%d creates, %d updates", creates, updates)
		}
	})
}

func TestAnUpdateThatWaitedForLongIsDecidedAgain(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.operate(time.Minute, things(kind, "a", 12)...)
		w.options.Rate, w.options.Burst, w.options.Poll = 0.1, 1, time.Hour
		w.drivers = w.newDrivers()
		outdated := func() (n int) {
			for _, made := range w.cloud.Things() {
				if made.Value == "b" {
					n++
				}
			}
			return n
		}
		w.operate(30*time.Second, things(kind, "b", 12)...)
		w.operate(40*time.Second, things(kind, "c", 12)...)
		before := outdated()
		for range 10 {
			w.operate(time.Minute, things(kind, "c", 12)...)
			if now := outdated(); now > before {
				t.Fatalf("%d things got the outdated manifest after a minute", now-before)
			}
		}
		if len(w.waiting) > 0 || outdated() > 0 {
			t.Errorf("%d outdated, waiting %v", outdated(), w.waiting)
		}
	})
}

// things returns the manifests of many externals.
func things(kind, value string, count int) (all []*unstructured.Unstructured) {
	for n := range count {
		body := thing(kind, value)
		body.SetName(fmt.Sprint("n", n))
		if kind == "NamedThing" {
			body.Object["spec"] = map[string]any{"value": value, "name": body.GetName()}
		}
		all = append(all, body)
	}
	return all
}

// skewed is the clock of another machine.
type skewed struct {
	clock.RealClock

	by time.Duration
}

func (c skewed) Now() time.Time { return time.Now().Add(c.by) }
