package externals_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// stubbornThings are things whose value no Update changes. A list shows only some of them.
type stubbornThings struct {
	componenttest.Things

	listed  func(id string) bool
	updates *atomic.Int32
}

// Update implements external.Updater.
func (k stubbornThings) Update(
	ctx context.Context, r external.Ref[componenttest.ThingSpec], _ componenttest.Thing,
) (componenttest.Thing, error) {
	k.updates.Add(1)
	return k.Observe(ctx, r)
}

// List implements external.Lister.
func (k stubbornThings) List(context.Context, external.Account) (map[string]componenttest.Thing, error) {
	found := map[string]componenttest.Thing{}
	for _, t := range k.Cloud.Things() {
		if k.listed(t.ID) {
			found[t.ID] = t
		}
	}
	return found, nil
}

// The observation after an update equals the answer of the update, so nothing but the observation itself can show that
// the update had no effect.
func TestAnUpdateWithoutEffectIsAConflict(t *testing.T) {
	for name, listed := range map[string]bool{"in the list": true, "not in the list": false} {
		for _, poll := range []time.Duration{time.Second, time.Minute} {
			t.Run(name+", polled each "+poll.String(), func(t *testing.T) {
				forKinds(t, []string{"StubbornThing"}, func(t *testing.T, w *world, kind string) {
					var updates atomic.Int32
					w.options.Poll, w.options.Settle = poll, 2*time.Second
					w.drivers = []external.Driver{external.Of(kind, stubbornThings{
						componenttest.Things{Cloud: w.cloud}, func(string) bool { return listed }, &updates,
					}, w.options)}
					w.operate(5*time.Second, thing(kind, "a"))
					made := w.cloud.Things()[0]
					made.Value = "of another client"
					w.cloud.Put(made)
					w.operate(2*time.Minute, thing(kind, "a"))
					if len(w.conflicts) == 0 {
						t.Errorf("no conflict after %d updates", updates.Load())
					}
				})
			})
		}
	}
}

func TestAnExternalThatIsInNoListIsNotAbsent(t *testing.T) {
	forKinds(t, []string{"UnlistedThing"}, func(t *testing.T, w *world, kind string) {
		w.options.Poll, w.options.Settle = 2*time.Second, time.Second
		var lists, updates atomic.Int32
		w.drivers = []external.Driver{external.Of(kind, stubbornThings{
			componenttest.Things{Cloud: w.cloud},
			func(string) bool {
				lists.Add(1)
				return false
			},
			&updates,
		}, w.options)}
		w.operate(time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "")
		if calls := w.cloud.Calls("Create"); calls != 1 || lists.Load() < 5 {
			t.Errorf("%d creates after %d lists", calls, lists.Load())
		}
	})
}

// A list of many pages may exceed a rate limit each time.
func TestExternalsAreObservedOneByOneWhileListsFail(t *testing.T) {
	for name, failure := range map[string]error{
		"for a short time":              external.RefusedFor(errors.New("429"), time.Second),
		"for longer than two intervals": external.RefusedFor(errors.New("429"), 25*time.Second),
		"for good":                      external.Refused(errors.New("403")),
		"for an unknown reason":         errors.New("500"),
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, []string{"ListedThing"}, func(t *testing.T, w *world, kind string) {
				w.options.Poll, w.options.Settle = 10*time.Second, time.Second
				w.drivers = []external.Driver{external.Of(kind, componenttest.ListedThings{
					Things: componenttest.Things{Cloud: w.cloud},
				}, w.options)}
				lists := 0
				w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
					if c.Method != "List" {
						return componenttest.CloudFault{}
					}
					lists++
					return componenttest.CloudFault{Before: failure}
				})
				w.operate(10*time.Second, thing(kind, "a"))
				made := w.cloud.Things()[0]
				made.Value = "of another client"
				w.cloud.Put(made)
				before := lists
				w.operate(5*time.Minute, thing(kind, "a"))
				w.expect("a", w.waiting, "")
				if more := lists - before; more < 3 || more > 40 {
					t.Errorf("%d lists in five minutes, want at most one each ten seconds after the first failures", more)
				}
				w.cloud.SetFault(nil)
				w.operate(2*time.Minute, thing(kind, "a"))
				observations := w.cloud.Calls("Observe")
				w.operate(time.Minute, thing(kind, "a"))
				if w.cloud.Calls("Observe") != observations {
					t.Error("externals are observed one by one although lists succeed again")
				}
			})
		})
	}
}

// The same failure, after a pass that saw no failure, must wake the component.
func TestAFailureThatComesBackIsReported(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(_ *testing.T, w *world, kind string) {
		w.options.Account = func(r external.Ref[componenttest.ThingSpec]) string { return r.Spec.Value }
		w.drivers = w.newDrivers()
		w.cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{Before: errors.New("503")}
		})
		for _, account := range []string{"a", "b"} {
			w.operate(10*time.Second, thing(kind, account, "external-id", "old"))
			w.expect("", w.waiting, "CallFailed observe: 503")
		}
	})
}

// localThings are things of which each account has one with the same id.
type localThings struct{ componenttest.ListedThings }

// List implements external.Lister.
func (k localThings) List(ctx context.Context, a external.Account) (map[string]componenttest.Thing, error) {
	_, err := k.ListedThings.List(ctx, a)
	return map[string]componenttest.Thing{"same": {ID: "same", Value: a.Name}}, err
}

// While an external waits for a list of its account, it moves to another account.
func TestAListDoesNotAnswerForAnotherAccount(t *testing.T) {
	forKinds(t, []string{"LocalThing"}, func(t *testing.T, w *world, kind string) {
		w.options.Account = func(r external.Ref[componenttest.ThingSpec]) string { return r.Spec.Value }
		w.options.Concurrency = 1
		w.drivers = []external.Driver{external.Of(kind, localThings{componenttest.ListedThings{
			Things: componenttest.Things{Cloud: w.cloud},
		}}, w.options)}
		body := func(account string) *unstructured.Unstructured {
			return thing(kind, account, "external-id", "same", "reconcile-policy", "observe")
		}
		slow := make(chan struct{})
		w.cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{Wait: slow}
		})
		w.operate(time.Second, body("a"))
		w.operate(time.Second, body("b"))
		close(slow)
		w.operate(5*time.Second, body("b"))
		seen, unknown := w.manager.Get(shop, manifests.Key{Group: manifests.ExternalGroup, Kind: kind, Name: "one"})
		if seen == nil {
			t.Fatal(unknown)
		}
		if value, _, _ := unstructured.NestedString(seen.Object, "status", "value"); value != "b" {
			t.Errorf("the list of account b has the value %q", value)
		}
	})
}
