package observe

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestEventsAndListsUpdateTheKnownObjects(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *watchFixture)
		// enqueued are the enqueued owners. version is the stored resource version at the end, "" if the object is absent.
		enqueued, version string
	}{
		{"a new object enqueues its owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
		}, "us", "5"},
		{"a newer version enqueues its owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("9", "us", "u1")))
			s.take()
			must(t, s.Update(at("10", "us", "u1")))
		}, "us", "10"},
		{"an older version is ignored", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("10", "us", "u1")))
			s.take()
			must(t, s.Update(at("9", "us", "u1")))
		}, "", "10"},
		{"a version that cannot be compared enqueues the owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("x", "us", "u1")))
			s.take()
			must(t, s.Update(at("y", "us", "u1")))
		}, "us", "y"},
		{"a change of the owner label enqueues both owners", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Update(at("6", "them", "u1")))
		}, "them, us", "6"},
		{"a deletion enqueues the owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Delete(at("6", "us", "u1")))
		}, "us", ""},
		{"a removed owner label enqueues the previous owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Delete(at("6", "", "u1")))
		}, "us", ""},
		{"the deletion of an earlier object of the same name is ignored", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("7", "us", "u2")))
			s.take()
			must(t, s.Delete(at("6", "us", "u1")))
		}, "", "7"},
		{"the deletion of an object with another UID is ignored, whatever its version", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("7", "us", "u2")))
			s.take()
			must(t, s.Delete(at("8", "us", "u1")))
		}, "", "7"},
		{"a deletion in an older version is ignored", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("7", "us", "u1")))
			s.take()
			must(t, s.Delete(at("6", "us", "u1")))
		}, "", "7"},
		{"the deletion of an unknown object enqueues no component", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "us", "u1")))
		}, "", ""},
		{"a list removes the objects that it does not contain", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Replace(nil, "8"))
		}, "us", ""},
		{"a list keeps an object that was written after the list was made", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.BeginWrite(settings)(answer("9"))
			must(t, s.Replace(nil, "8"))
		}, "", "9"},
		{"a list without a change enqueues no component", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Replace([]any{at("5", "us", "u1")}, "8"))
		}, "", "5"},
		{"a list with a change enqueues the owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Add(at("5", "us", "u1")))
			s.take()
			must(t, s.Replace([]any{at("7", "us", "u1")}, "8"))
		}, "us", "7"},
		{"the first list enqueues all users", func(t *testing.T, s *watchFixture) {
			t.Helper()
			delete(s.observer.components, "them")
			s.unlisted(plan.WaitObserving)
			s.watchOpened()
			must(t, s.Replace(nil, "8"))
		}, "us", ""},
		{"a value that is not an object is ignored", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Update("text"))
			must(t, s.Delete("text"))
		}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWatchFixture(t)
			c.do(t, s)
			s.expect(t, c.enqueued, c.version)
		})
	}
}

func TestEventsAroundOwnWrites(t *testing.T) {
	for _, c := range []struct {
		name string
		// before, during and after are the events before the write, between the write and its response, and after the
		// response.
		before           func(s *watchFixture) error
		during           func(s *watchFixture) error
		answer           *plan.Observed
		after            func(s *watchFixture) error
		enqueued, latest string
	}{
		{name: "the response is stored at once", answer: answer("5"), latest: "5"},
		{
			name:   "the event of our write enqueues no component after the response",
			answer: answer("5"), after: show("5"), latest: "5",
		},
		{
			name: "the event of our write enqueues no component before the response", during: show("5"), answer: answer("5"),
			latest: "5",
		},
		{
			name: "a foreign write after our write enqueues the owner", answer: answer("5"), after: show("6"), enqueued: "us",
			latest: "6",
		},
		{
			name: "a foreign write before our write, shown before the response, enqueues the owner", before: show("3"),
			during: show("4"), answer: answer("5"), enqueued: "us", latest: "5",
		},
		{
			name: "a foreign write after our write, shown before the response, enqueues the owner", during: show("6"),
			answer: answer("5"), enqueued: "us", latest: "6",
		},
		{
			name: "an event during a write with an unknown result enqueues the owner", during: show("5"), enqueued: "us",
			latest: "5",
		},
		{
			name: "an object that is deleted before the response stays absent",
			during: func(s *watchFixture) error {
				if err := s.Add(at("5", "us", "u1")); err != nil {
					return err
				}
				return s.Delete(at("6", "us", "u1"))
			}, answer: answer("5"), enqueued: "us",
		},
		{
			name: "an object that a list misses before the response stays absent", before: show("4"),
			during: func(s *watchFixture) error { return s.Replace(nil, "6") }, answer: answer("5"), enqueued: "us",
		},
		{
			name: "an object that lost its owner label before our write is present after the write", before: show("3"),
			during: func(s *watchFixture) error { return s.Delete(at("4", "", "u1")) }, answer: answer("5"), enqueued: "us",
			latest: "5",
		},
		{
			name: "the deletion of an earlier object does not remove the object that we create", before: show("3"),
			during: func(s *watchFixture) error { return s.Delete(at("4", "us", "u1")) }, answer: answer("5"), after: show("5"),
			enqueued: "us", latest: "5",
		},
		{name: "our delete makes the object absent at once", before: show("4"), answer: deleteAnswer("u1")},
		{
			name:   "the event of our delete enqueues no component after the response",
			before: show("4"), answer: deleteAnswer("u1"), after: remove("5"),
		},
		{
			name: "the event of our delete enqueues no component before the response", before: show("4"), during: remove("5"),
			answer: deleteAnswer("u1"),
		},
		{
			name: "our delete of an earlier object leaves the new object", before: show("4"), answer: deleteAnswer("u0"),
			latest: "4",
		},
		{
			name: "a response that is older than the known version is not stored", before: show("6"), answer: answer("5"),
			latest: "6",
		},
		{
			name:   "an owner that lost an object to us is enqueued",
			before: func(s *watchFixture) error { return s.Add(at("4", "them", "u1")) },
			answer: answer("5"), after: show("5"), enqueued: "them", latest: "5",
		},
		{
			name:   "an owner that lost an object to us is enqueued if the event precedes the response",
			before: func(s *watchFixture) error { return s.Add(at("4", "them", "u1")) },
			during: show("5"), answer: answer("5"), enqueued: "them", latest: "5",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWatchFixture(t)
			if c.before != nil {
				must(t, c.before(s))
				s.take()
			}
			done := s.observer.BeginWrite(settings)
			if c.during != nil {
				must(t, c.during(s))
				if got := s.take(); got != "" {
					t.Errorf("components were enqueued before the response to the write: %q", got)
				}
			}
			done(c.answer)
			if c.after != nil {
				must(t, c.after(s))
			}
			s.expect(t, c.enqueued, c.latest)
			if len(s.observer.writes) > 0 {
				t.Error("the write is still recorded as in flight after its response")
			}
		})
	}
}

func show(version string) func(*watchFixture) error {
	return func(s *watchFixture) error { return s.Update(at(version, "us", "u1")) }
}

func remove(version string) func(*watchFixture) error {
	return func(s *watchFixture) error { return s.Delete(at(version, "us", "u1")) }
}

func TestPendingEventsWaitForTheLastWrite(t *testing.T) {
	s := newWatchFixture(t)
	first, second := s.observer.BeginWrite(settings), s.observer.BeginWrite(settings)
	must(t, show("5")(s))
	first(answer("5"))
	if got := s.take(); got != "" {
		t.Errorf("components were enqueued before the response to the second write: %q", got)
	}
	second(answer("6"))
	s.expect(t, "us", "6")
}

// A read may return a version from before the deletion, although the watch has shown the deletion already.
func TestReadsAddNoObject(t *testing.T) {
	s := newWatchFixture(t)
	must(t, s.Add(at("5", "us", "u1")))
	must(t, s.Delete(at("6", "us", "u1")))
	s.take()
	s.observer.BeginRead(settings)(answer("5"))
	s.expect(t, "", "")

	must(t, s.Add(at("7", "us", "u2")))
	s.take()
	s.observer.BeginRead(settings)(answer("8"))
	s.expect(t, "", "8")
	s.observer.BeginRead(settings)(&plan.Observed{Presence: plan.Absent})
	s.expect(t, "", "")
}

func TestAnswersKeepFactsThatTheWatchDoesNotShow(t *testing.T) {
	s := newWatchFixture(t)
	must(t, s.Add(at("5", "us", "u1")))
	s.observer.BeginWrite(settings)(answer("5"))
	if got := s.observer.Live(Reader{}, settings).Values; got != "v" {
		t.Errorf("got %q", got)
	}
}

func TestFinishedJobsAreRemembered(t *testing.T) {
	job := func(condition string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"namespace": "shop", "name": "settings", "uid": "u1", "resourceVersion": "5"},
			"spec":     map[string]any{"ttlSecondsAfterFinished": int64(1)},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}},
		}}
	}
	for condition, want := range map[string]bool{"Complete": true, "Failed": false} {
		t.Run(condition, func(t *testing.T) {
			s := newWatchFixture(t)
			must(t, s.Add(job(condition)))
			must(t, s.Delete(job(condition)))
			if live := s.observer.Live(Reader{}, settings); live.Presence != plan.Absent || live.Finished != want {
				t.Errorf("the object has the presence %s and finished %v, want Absent and the result that the watch last showed",
					live.Presence, live.Finished)
			}
		})
	}
	t.Run("forgets finished Jobs after finishedLifetime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newWatchFixture(t)
			must(t, s.Add(job("Complete")))
			must(t, s.Delete(job("Complete")))
			time.Sleep(finishedLifetime + time.Second)
			synctest.Wait()
			if live := s.observer.Live(Reader{}, settings); live.Presence != plan.Absent || live.Finished ||
				len(s.objects.observed) > 0 {
				t.Errorf("the object has the presence %s and finished %v, and the watch stores %d objects", live.Presence,
					live.Finished, len(s.objects.observed))
			}
		})
	})
	t.Run("keeps an object that was created after the Job was deleted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newWatchFixture(t)
			must(t, s.Add(job("Complete")))
			must(t, s.Delete(job("Complete")))
			must(t, s.Add(at("9", "us", "u2")))
			time.Sleep(finishedLifetime + time.Second)
			synctest.Wait()
			s.take()
			s.expect(t, "", "9")
		})
	})
}

func TestWatchesStopWithTheirLastUser(t *testing.T) {
	s := newWatchFixture(t)
	o := s.observer
	var ended []string
	s.cancel = func() { ended = append(ended, "dependents") }
	o.instances[instanceWatchKey{gk: widgets}] = newInstanceWatch(o,
		widgets,
		func() { ended = append(ended, "instances") },
	)
	both := map[WatchedResource]string{s.resource: "v1"}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"all components use all watches", func() {
			for _, name := range []string{"us", "them"} {
				o.Watch(name, Reader{}, maps.Clone(both), func() {})
				o.WatchInstances(name, []schema.GroupKind{widgets})
			}
		}, ""},
		{"a component uses the same watches again", func() {
			o.Watch("us", Reader{}, maps.Clone(both), func() {})
			o.WatchInstances("us", []schema.GroupKind{widgets})
		}, ""},
		{"a component stops both watches", func() {
			o.StopWatchesExcept("us", nil)
			o.WatchInstances("us", nil)
		}, ""},
		{"the component is released", func() { o.Release("us") }, ""},
		{"an unknown component is released", func() { o.StopWatchesExcept("nobody", nil); o.Release("nobody") }, ""},
		{"the last user stops the instance watch", func() { o.WatchInstances("them", nil) }, "instances"},
		{"the last user is released", func() { o.Release("them") }, "instances, dependents"},
	} {
		step.do()
		if got := strings.Join(ended, ", "); got != step.want {
			t.Errorf("%s: the watches %q ended, want %q", step.name, got, step.want)
		}
	}
	if len(o.dependents.watches)+len(o.instances)+len(o.components) > 0 {
		t.Errorf("these watches, instances and components are left after the last release: %v, %v and %v",
			o.dependents.watches, o.instances, o.components)
	}
}

// BenchmarkWatch measures the time of one call of Watch. The time must not depend on the number of other components.
func BenchmarkWatch(b *testing.B) {
	for _, owners := range []int{10, 10000} {
		b.Run(strconv.Itoa(owners), func(b *testing.B) {
			o := New(b.Context(), Options{Reconciler: reconciler})
			addWatch(o, Reader{}, WatchedResource{Type: configMaps}, func() {})
			places := map[WatchedResource]string{{Type: configMaps}: "v1"}
			for i := range owners {
				o.Watch(strconv.Itoa(i), Reader{}, places, func() {})
			}
			for b.Loop() {
				o.Watch("1", Reader{}, maps.Clone(places), func() {})
			}
		})
	}
}

func TestFailedListsMakeATypeUnknown(t *testing.T) {
	refused := watchFailure{reason: "Forbidden", message: "no", definite: true}
	unreachable := watchFailure{reason: "ListFailed", message: "no answer"}
	for _, c := range []struct {
		name     string
		reason   plan.WaitReason
		failure  watchFailure
		want     plan.WaitReason
		enqueued bool
	}{
		{"a refusal makes a known type unknown", "", refused, "Forbidden", true},
		{"a network failure leaves a known type known", "", unreachable, "", false},
		{
			"a network failure is the reason for a type that was never known", plan.WaitObserving, unreachable, "ListFailed",
			true,
		},
		{"a repeated refusal enqueues no component", "Forbidden", refused, "Forbidden", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newWatchFixture(t)
			delete(s.observer.components, "them")
			if c.reason != "" {
				s.unlisted(c.reason)
			}
			s.listFailed(c.failure)
			if live := s.observer.Live(Reader{}, settings); live.Reason != c.want ||
				(live.Presence == plan.Unknown) != (c.want != "") {
				t.Errorf("the refused watch gives the presence %s with the reason %q", live.Presence, live.Reason)
			}
			if got := s.take(); (got == "us") != c.enqueued {
				t.Errorf("the refusal of the watch enqueued %q", got)
			}
		})
	}
}

func TestTypesThatCanBeListedButNotWatched(t *testing.T) {
	refused := watchFailure{reason: plan.WaitUnwatched, definite: true}
	s := newWatchFixture(t)
	delete(s.observer.components, "them")
	s.listFailed(refused)
	s.take()
	for range 3 {
		must(t, s.Replace([]any{at("5", "us", "u1")}, "8"))
		s.take() // In the first round the object is new.
		s.listFailed(refused)
		if got := s.take(); got != "" {
			t.Errorf("a repeated refusal of the watch enqueued %q, want none", got)
		}
		if live := s.observer.Live(Reader{}, settings); live.Presence != plan.Unknown ||
			live.Reason != plan.WaitUnwatched {
			t.Errorf("after a repeated refusal of the watch the object has the presence %s with the reason %q", live.Presence,
				live.Reason)
		}
	}
	s.listFailed(watchFailure{reason: "ListFailed"})
	must(t, s.Replace([]any{at("5", "us", "u1")}, "8"))
	s.listFailed(watchFailure{reason: "ListFailed", message: "this type cannot be watched at all"})
	if live := s.observer.Live(Reader{}, settings); live.Presence != plan.Present {
		t.Errorf("listed, and the watch not refused: got %s %q", live.Presence, live.Reason)
	}
}

func TestUnknownUntilListed(t *testing.T) {
	s := newWatchFixture(t)
	s.unlisted(plan.WaitObserving)
	if s.observer.Synced("us") || s.observer.Live(Reader{}, settings).Presence != plan.Unknown {
		t.Error("the type is known before the first list")
	}
	must(t, s.Replace(nil, "1"))
	if s.observer.Synced("us") || s.observer.Live(Reader{}, settings).Presence != plan.Unknown {
		t.Error("the type is known before the watch was opened")
	}
	s.watchOpened()
	if !s.observer.Synced("us") || s.observer.Live(Reader{}, settings).Presence != plan.Absent {
		t.Error("the type is not known after its list and the start of its watch")
	}
	other := manifests.Key{Kind: "Secret", Namespace: "shop", Name: "x"}
	if s.observer.Live(Reader{}, other).Presence != plan.Unknown {
		t.Error("a type without a watch is known")
	}
	if s.observer.Synced("nobody") {
		t.Error("Synced is true for a component that the Observer does not know")
	}
}

// TestConcurrentUse calls an Observer concurrently, so that the race detector can find races. At the end, the Observer
// must have the last version.
func TestConcurrentUse(t *testing.T) {
	s := newWatchFixture(t)
	for _, own := range s.observer.components {
		own.enqueue = func() {}
	}
	const rounds = 300
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			version := strconv.Itoa(2*i + 1)
			if err := s.Update(at(version, "us", "u1")); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range rounds {
			done := s.observer.BeginWrite(settings)
			done(answer(strconv.Itoa(2*i + 2)))
		}
	})
	wg.Go(func() {
		for range rounds {
			s.observer.Live(Reader{}, settings)
			s.observer.Synced("us")
		}
	})
	wg.Wait()
	if got := s.observer.Live(Reader{}, settings).ResourceVersion; got != strconv.Itoa(2*rounds) {
		t.Errorf("got %s", got)
	}
}
