package externals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/externals"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestALife(t *testing.T) {
	forKinds(t, kinds, func(_ *testing.T, w *world, kind string) {
		w.expect("a", w.apply(thing(kind, "a")), "")
		w.expect("b", w.apply(thing(kind, "b")), "")
		if w.cloud.Calls("Create") != 1 || w.cloud.Calls("Update") != 1 {
			w.t.Errorf("creates %d, updates %d", w.cloud.Calls("Create"), w.cloud.Calls("Update"))
		}
		w.kill()
		w.start()
		w.expect("b", w.apply(thing(kind, "b")), "")
		time.Sleep(time.Minute)
		w.apply()
		time.Sleep(20 * time.Second)
		w.expect("", w.apply(), "")
		if len(w.inventory) > 0 {
			w.t.Errorf("inventory %v", w.inventory)
		}
	})
}

func TestAnExternalThatWasNotFoundCountsAsGoneOnlyAfterASecondAnswer(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{Stale: c.Method == "Observe"}
		})
		time.Sleep(2 * time.Minute)
		w.cloud.SetFault(nil)
		synctest.Wait()
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates while nothing but a poll was stale", calls)
		}
		id := w.cloud.Things()[0].ID
		w.cloud.Remove(id)
		time.Sleep(2 * time.Minute)
		w.expect("a", w.apply(thing(kind, "a")), "")
	})
}

func TestALostAnswerOfCreateIsFoundOut(t *testing.T) {
	forKinds(t, []string{"FindableThing", "NamedThing"}, func(t *testing.T, w *world, kind string) {
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		})
		w.apply(thing(kind, "a"))
		time.Sleep(30 * time.Second)
		w.expect("a", w.apply(thing(kind, "a")), "")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}

// scopedThings are found only by a search with the spec with which they were created.
type scopedThings struct{ componenttest.FindableThings }

func (k scopedThings) Find(ctx context.Context, r external.Ref[componenttest.ThingSpec]) (id string, found bool, err error) {
	id, found, err = k.FindableThings.Find(ctx, r)
	if !found || err != nil {
		return "", false, err
	}
	observed, err := k.Observe(ctx, external.Ref[componenttest.ThingSpec]{ID: id})
	return id, observed.Value == r.Spec.Value, err
}

func TestAnUncertainCreateIsSearchedWithTheSpecOfTheCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		things := scopedThings{componenttest.FindableThings{Things: componenttest.Things{Cloud: w.cloud}}}
		w.drivers = []external.Driver{external.Of("FindableThing", things, w.options)}
		var down atomic.Bool
		down.Store(true)
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			switch {
			case c.Method == "Create":
				return componenttest.CloudFault{After: errors.New("connection reset")}
			case down.Load():
				return componenttest.CloudFault{Before: errors.New("429")}
			}
			return componenttest.CloudFault{}
		})
		w.apply(thing("FindableThing", "a"))
		w.apply(thing("FindableThing", "b"))
		down.Store(false)
		time.Sleep(30 * time.Second)
		w.expect("b", w.apply(thing("FindableThing", "b")), "")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
		w.kill()
	})
}

func TestAChangedSpecIsCreatedWithAnotherToken(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		var tokens []string
		var full atomic.Bool
		full.Store(true)
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method != "Create" {
				return componenttest.CloudFault{}
			}
			tokens = append(tokens, c.Token)
			if full.Load() {
				return componenttest.CloudFault{Before: external.Refused(errors.New("quota"))}
			}
			return componenttest.CloudFault{}
		})
		w.apply(thing(kind, "a"))
		time.Sleep(time.Minute)
		w.apply(thing(kind, "a"))
		former := slices.Compact(slices.Clone(tokens))
		full.Store(false)
		w.apply(thing(kind, "b"))
		time.Sleep(time.Minute)
		w.expect("b", w.apply(thing(kind, "b")), "")
		if last := tokens[len(tokens)-1]; len(former) != 1 || last == former[0] {
			t.Errorf("the tokens are %q for one spec, and %q for another one", former, last)
		}
	})
}

func TestAPersonResolvesAnUncertainCreate(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		key := manifests.Key{Group: manifests.ExternalGroup, Kind: kind, Name: "one"}
		lost := func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{After: errors.New("connection reset")}
			}
			return componenttest.CloudFault{}
		}
		w.cloud.SetFault(lost)
		w.apply(thing(kind, "a"))
		w.expect("a", w.apply(thing(kind, "a")), "CreateUncertain")
		w.kill()
		w.start()
		w.expect("a", w.apply(thing(kind, "a")), "CreateUncertain")
		made := w.cloud.Things()[0]
		w.resolved = map[manifests.Key]externals.Resolution{key: {Token: "another", Absent: true}}
		w.expect("a", w.apply(thing(kind, "a")), "CreateUncertain")
		w.resolved = map[manifests.Key]externals.Resolution{key: {Token: made.Token, ID: made.ID}}
		w.expect("a", w.apply(thing(kind, "a")), "")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}

func TestARefusedCreateLeavesNothingUncertain(t *testing.T) {
	forKinds(t, kinds, func(_ *testing.T, w *world, kind string) {
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			if c.Method == "Create" {
				return componenttest.CloudFault{Before: external.Refused(errors.New("value is not allowed"))}
			}
			return componenttest.CloudFault{}
		})
		w.apply(thing(kind, "a"))
		w.expect("", w.apply(thing(kind, "a")), "CallFailed create: value is not allowed")
		w.cloud.SetFault(nil)
		w.kill()
		w.start()
		time.Sleep(time.Minute)
		w.apply(thing(kind, "a"))
		time.Sleep(time.Minute)
		w.expect("a", w.apply(thing(kind, "a")), "")
	})
}

func TestAnExternalWhoseStateWasLostGetsTheChangedManifest(t *testing.T) {
	forKinds(t, []string{"FindableThing"}, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.kill()
		clear(w.server.Secrets)
		w.start()
		w.apply(thing(kind, "b"))
		time.Sleep(30 * time.Second)
		w.expect("b", w.apply(thing(kind, "b")), "")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}

func TestAdoption(t *testing.T) {
	forKinds(t, kinds, func(_ *testing.T, w *world, kind string) {
		w.cloud.Put(componenttest.Thing{ID: "old", Value: "a"})
		w.expect("a", w.apply(thing(kind, "a", "external-id", "old", "adoption-policy", "never")), "OwnershipConflict")
		w.expect("b", w.apply(thing(kind, "b", "external-id", "old")), "")
		w.remove()
		time.Sleep(20 * time.Second)
		w.expect("", w.remove(), "")
		if calls := w.cloud.Calls("Create"); calls != 0 {
			w.t.Errorf("%d creates", calls)
		}
	})
}

func TestAnExternalWithATagOfAnotherOwnerIsNotAdopted(t *testing.T) {
	forKinds(t, []string{"FindableThing"}, func(_ *testing.T, w *world, kind string) {
		w.cloud.Put(componenttest.Thing{ID: "theirs", Token: strings.Repeat("f", 40), Value: "a"})
		w.expect("a", w.apply(thing(kind, "a", "external-id", "theirs")), "OwnershipConflict")
	})
}

func TestAnOrphanedExternalStays(t *testing.T) {
	forKinds(t, kinds, func(_ *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a", "delete-policy", "orphan"))
		w.expect("a", w.remove(), "")
		if len(w.inventory) > 0 || !slices.ContainsFunc(w.events, func(e string) bool {
			return strings.HasPrefix(e, "ExternalReleased") && strings.Contains(e, w.cloud.Things()[0].ID)
		}) {
			w.t.Errorf("inventory %v, events %v", w.inventory, w.events)
		}
	})
}

func TestAFailingPollKeepsTheLastAnswer(t *testing.T) {
	forKinds(t, kinds, func(_ *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.cloud.SetFault(func(componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{Before: errors.New("503")}
		})
		time.Sleep(2 * time.Minute)
		w.expect("a", w.apply(thing(kind, "a")), "")
		time.Sleep(10 * time.Minute)
		w.expect("a", w.apply(thing(kind, "a")), "CallFailed observe: 503")
	})
}

func TestEqualAnswersWakeNobody(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		before := w.cloud.Calls("Observe")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if polled := w.cloud.Calls("Observe") - before; polled < 8 || polled > 12 {
			t.Errorf("%d polls in ten minutes", polled)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.wakes > 0 {
			t.Errorf("%d wakes", w.wakes)
		}
	})
}
