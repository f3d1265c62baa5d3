package externals_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func answersOf(kind string, r externals.Resolution) map[manifests.Key]externals.Resolution {
	return map[manifests.Key]externals.Resolution{{Group: manifests.ExternalGroup, Kind: kind, Name: "one"}: r}
}

// The create of a lost state may be older than the time for which the external system knows the token.
func TestAWrongIDForALostStateCreatesNothing(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.options.IdempotentFor = time.Hour
		w.drivers = w.newDrivers()
		w.apply(thing(kind, "a"))
		time.Sleep(2 * time.Hour)
		w.kill()
		clear(w.server.Secrets)
		w.start()
		w.expect("a", w.apply(thing(kind, "a")), "CreateUncertain")
		w.resolved = answersOf(kind, externals.Resolution{Token: w.cloud.Things()[0].Token, ID: "wrong"})
		w.operate(time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "CreateUncertain")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}

func TestAnAnswerIsUsedAlthoughItsRecordFailedFirst(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(_ *testing.T, w *world, kind string) {
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		w.expect("a", w.apply(thing(kind, "a")), "CreateUncertain")
		made := w.cloud.Things()[0]
		w.resolved = answersOf(kind, externals.Resolution{Token: made.Token, ID: made.ID})
		w.retries = true
		w.server.Refuse = func(verb, _ string) error {
			if verb == "update" || verb == "patch" {
				return errors.New("503")
			}
			return nil
		}
		w.operate(3*time.Second, thing(kind, "a"))
		w.server.Refuse = nil
		w.operate(time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "")
	})
}

func TestARightIDAfterAWrongOneIsLookedUpAtOnce(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(_ *testing.T, w *world, kind string) {
		w.options.Poll = time.Hour
		w.drivers = w.newDrivers()
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		w.apply(thing(kind, "a"))
		made := w.cloud.Things()[0]
		w.resolved = answersOf(kind, externals.Resolution{Token: made.Token, ID: "wrong"})
		w.operate(time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "CreateUncertain")
		w.resolved = answersOf(kind, externals.Resolution{Token: made.Token, ID: made.ID})
		w.operate(10*time.Second, thing(kind, "a"))
		w.expect("a", w.waiting, "")
	})
}

func TestALimitThatIsRaisedTakesEffect(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.options.Account = func(external.Ref[componenttest.ThingSpec]) string { return "a" }
		w.options.Poll, w.options.Rate, w.options.Burst = time.Second, 0.1, 5
		w.drivers = w.newDrivers()
		w.operate(time.Minute, thing(kind, "a"))
		w.options.Rate, w.options.Burst = 1000, 1000
		w.drivers = w.newDrivers()
		w.operate(time.Minute, thing(kind, "a"))
		before := w.cloud.Calls("Observe")
		w.operate(time.Minute, thing(kind, "a"))
		if polled := w.cloud.Calls("Observe") - before; polled < 40 {
			t.Errorf("%d polls in a minute", polled)
		}
	})
}
