package externals_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// asked returns the number of calls that showed the state of externals.
func (w *world) asked() int { return w.cloud.Calls("Observe") + w.cloud.Calls("List") }

func TestADemandObservesAtOnce(t *testing.T) {
	for name, demand := range map[string]func(*world){
		"by a call":    func(w *world) { w.manager.Demand(shop) },
		"by a request": func(w *world) { w.requested = "2" },
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
				w.options.Poll, w.requested = time.Hour, "1"
				w.drivers = w.newDrivers()
				w.apply(thing(kind, "a"))
				w.apply(thing(kind, "a"))
				made, before := w.cloud.Things()[0], w.asked()
				made.Value = "of another client"
				w.cloud.Put(made)
				if w.apply(thing(kind, "a")); w.asked() != before {
					t.Errorf("a pass made %d calls without a demand", w.asked()-before)
				}
				demand(w)
				w.expect("a", w.apply(thing(kind, "a")), "")
				if w.asked() == before {
					t.Error("a demand made no call")
				}
			})
		})
	}
}

func TestADemandDuringAnObservationObservesAgain(t *testing.T) {
	forKinds(t, []string{"NamedThing"}, func(t *testing.T, w *world, kind string) {
		w.options.Poll = time.Hour
		w.drivers = w.newDrivers()
		w.apply(thing(kind, "a"))
		var held atomic.Bool
		answer := make(chan struct{})
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Observe" && held.CompareAndSwap(false, true) {
				return componenttest.CloudFault{Wait: answer}
			}
			return componenttest.CloudFault{}
		})
		before := w.asked()
		w.manager.Demand(shop)
		time.Sleep(time.Second)
		w.manager.Demand(shop)
		time.Sleep(time.Second)
		close(answer)
		time.Sleep(time.Second)
		if calls := w.asked() - before; calls != 2 {
			t.Errorf("two demands made %d calls, want 2: the first answer may be older than the second demand", calls)
		}
	})
}

func TestADemandForAnUnknownComponentDoesNothing(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(_ *testing.T, w *world, _ string) {
		w.manager.Demand(shop)
	})
}

func TestADemandDoesNotAskBeforeTheServicePermitsIt(t *testing.T) {
	forKinds(t, []string{"NamedThing"}, func(t *testing.T, w *world, kind string) {
		w.options.Poll = time.Second
		w.drivers = w.newDrivers()
		w.apply(thing(kind, "a"))
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Observe" {
				return componenttest.CloudFault{Before: &external.RefusedError{
					Cause: errors.New("busy"), Temporary: true,
					After: time.Hour,
				}}
			}
			return componenttest.CloudFault{}
		})
		time.Sleep(time.Minute)
		refused := w.asked()
		w.manager.Demand(shop)
		time.Sleep(time.Minute)
		if calls := w.asked() - refused; calls != 0 {
			t.Errorf("a demand made %d calls within the delay of the service, want none", calls)
		}
		w.cloud.SetFault(nil)
		time.Sleep(2 * time.Hour)
		if w.asked() == refused {
			t.Error("no call was made after the delay of the service")
		}
	})
}
