package externals_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

func TestAnExternalThatWasNotFoundCountsAsDeletedOnlyAfterASecondAnswer(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		w.operate(5*time.Second, thing(kind, "a"))
		var wrong atomic.Int32
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			return componenttest.CloudFault{Stale: c.Method == "Observe" && wrong.Add(1) == 1}
		})
		w.operate(2*time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "")
		if calls := w.cloud.Calls("Create"); calls != 1 || wrong.Load() < 2 {
			t.Errorf("%d creates after one wrong answer of %d", calls, wrong.Load())
		}
		w.cloud.Remove(w.cloud.Things()[0].ID)
		w.operate(2*time.Minute, thing(kind, "a"))
		w.expect("a", w.waiting, "")
		if calls := w.cloud.Calls("Create"); calls != 2 {
			t.Errorf("%d creates after the external was removed", calls)
		}
	})
}

// Within the settle time after a write, the answers of an external system need not show the write. So they do not
// count, and a wrong answer after that time is the first one.
func TestAnswersWithinTheSettleTimeAfterACreateProveNothing(t *testing.T) {
	lost := componenttest.CloudFault{After: errors.New("connection reset")}
	for name, tc := range map[string]struct {
		create componenttest.CloudFault
		kinds  []string
	}{
		"after a create":                       {kinds: kinds},
		"after a create whose answer was lost": {create: lost, kinds: []string{"FindableThing", "NamedThing"}},
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, tc.kinds, func(t *testing.T, w *world, kind string) {
				w.options.Poll = time.Second
				w.drivers = w.newDrivers()
				answers := &lateAnswers{settle: w.options.Settle, create: tc.create}
				w.cloud.SetFault(answers.fault)
				w.operate(time.Minute, thing(kind, "a"))
				w.expect("a", w.waiting, "")
				if calls := w.cloud.Calls("Create"); calls != 1 || answers.within == 0 || answers.after < 2 {
					t.Errorf("%d creates after %d answers within the settle time, and %d later ones",
						calls, answers.within, answers.after)
				}
			})
		})
	}
}

// lateAnswers let an external system show a create only after its settle time and one more answer. Its observations are
// made one after the other.
type lateAnswers struct {
	settle  time.Duration
	create  componenttest.CloudFault
	created time.Time
	// within counts the answers within the settle time, and after the later ones.
	within, after int
}

func (l *lateAnswers) fault(c componenttest.CloudCall) componenttest.CloudFault {
	switch {
	case c.Method == "Create":
		l.created = time.Now()
		return l.create
	case l.created.IsZero():
		return componenttest.CloudFault{}
	case time.Since(l.created) < l.settle:
		l.within++
		return componenttest.CloudFault{Stale: true}
	}
	l.after++
	return componenttest.CloudFault{Stale: l.after == 1}
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

func (k scopedThings) Find(ctx context.Context, r external.Ref[componenttest.ThingSpec]) (id string,
	found bool, err error,
) {
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
		previous := slices.Compact(slices.Clone(tokens))
		full.Store(false)
		w.apply(thing(kind, "b"))
		time.Sleep(time.Minute)
		w.expect("b", w.apply(thing(kind, "b")), "")
		if last := tokens[len(tokens)-1]; len(previous) != 1 || last == previous[0] {
			t.Errorf("the tokens are %q for one spec, and %q for another one", previous, last)
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

func TestADamagedStateIsReported(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.kill()
		const name = "Thing.one"
		for _, secret := range w.server.Secrets {
			encoded, _, _ := unstructured.NestedString(secret.Object, "data", name)
			text, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Fatal(err)
			}
			edited := strings.Replace(string(text), `"id":"thing-1"`, `"id":"thing-7"`, 1)
			encoded = base64.StdEncoding.EncodeToString([]byte(edited))
			if err := unstructured.SetNestedField(secret.Object, encoded, "data", name); err != nil || edited == string(text) {
				t.Fatal("not edited", err)
			}
		}
		w.start()
		w.expect("a", w.apply(thing(kind, "a")), "StateDamaged its recorded state is damaged: ")
	})
}

func TestAnExternalThatTheInventoryLacksIsLeftInPlace(t *testing.T) {
	forKinds(t, kinds, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.kill()
		clear(w.inventory)
		w.recorded = true
		w.start()
		for range 3 {
			w.expect("a", w.apply(), "")
		}
		reports := slices.DeleteFunc(slices.Clone(w.events), func(e string) bool {
			return !strings.HasPrefix(e,
				"ExternalUnrecorded: ")
		})
		if id := w.cloud.Things()[0].ID; len(reports) != 1 || !strings.Contains(reports[0],
			kind+".external.fairlead.io one") ||
			!strings.Contains(reports[0], `it is left in place: id "`+id+`"`) {
			t.Errorf("reports %q", reports)
		}
		if calls := w.cloud.Calls("Delete"); calls != 0 {
			t.Errorf("%d deletes", calls)
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
