package observe

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var theirs = map[manifests.Key]Owner{settings: {ID: "them", Name: "Component b/them"}}

func ownsAll(manifests.Key) bool { return true }

func ownsNone(manifests.Key) bool { return false }

func TestHandoverOfAnAwaitedObject(t *testing.T) {
	for _, c := range []struct {
		name string
		// do changes an object of the component "them". The component "us" waits for the object.
		do func(t *testing.T, s *watchFixture)
		// enqueued are the components that are enqueued at the end of the handover delay.
		enqueued string
	}{
		{
			"enqueues the owner of a deleted object, because the owner may create the object again",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				must(t, s.Delete(at("6", "them", "u1")))
			},
			"them",
		},
		{
			"enqueues the owner of a deleted object after a pass in which the owner still renders the object",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				must(t, s.Delete(at("6", "them", "u1")))
				s.observer.ReportOwned("them", ownsAll)
			},
			"them",
		},
		{"enqueues the waiting component after the owner relinquished a deleted object", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("them", ownsNone)
		}, "us"},
		{
			"enqueues the waiting component if the deletion event follows the relinquishing pass",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				s.observer.ReportOwned("them", ownsNone)
				must(t, s.Delete(at("6", "them", "u1")))
			},
			"us",
		},
		{"enqueues the owner if it renders a relinquished object again", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("them", ownsNone)
			s.observer.ReportOwned("them", ownsAll)
		}, "them"},
		{"ignores that a third component does not own the object", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("others", ownsNone)
		}, "them"},
		{
			"enqueues the waiting component after the owner of a deleted object was released",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				must(t, s.Delete(at("6", "them", "u1")))
				s.observer.Release("them")
			},
			"us",
		},
		{
			"enqueues the waiting component after our own delete and the release of the owner",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				s.observer.BeginWrite(settings)(deleteAnswer("u1"))
				s.observer.Release("them")
			},
			"us",
		},
		{
			"enqueues the waiting component if a list misses the object of a released owner",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				s.observer.Release("them")
				must(t, s.Replace(nil, "9"))
			},
			"us",
		},
		{
			"enqueues the waiting component if the owner label was removed before the deletion",
			func(t *testing.T, s *watchFixture) {
				t.Helper()
				released := answer("6")
				released.Owner = ""
				s.observer.BeginWrite(settings)(released)
				s.observer.ReportOwned("them", ownsNone)
				must(t, s.Delete(at("7", "", "u1")))
			},
			"us",
		},
		{"enqueues no component while an object of a released owner exists", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.Release("them")
		}, ""},
		{"enqueues no component if the owner created the object again", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			must(t, s.Add(at("7", "them", "u2")))
		}, ""},
		{"enqueues no component if the object only changed", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Update(at("6", "them", "u1")))
		}, ""},
		{"enqueues no component if a third component took over the object", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Update(at("6", "others", "u1")))
		}, ""},
		{"enqueues no component if the object is no longer awaited", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Release("them")
			s.observer.AwaitHandover("us", nil)
		}, ""},
		{"enqueues no component if the waiting component was released", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Release("them")
			s.observer.Release("us")
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWatchFixture(t)
				must(t, s.Add(at("5", "them", "u1")))
				s.observer.AwaitHandover("us", theirs)
				c.do(t, s)
				s.take()
				time.Sleep(handoverDelay - time.Nanosecond)
				synctest.Wait()
				if enqueued := s.take(); enqueued != "" {
					t.Errorf("the component %s was enqueued before the handover delay ended", enqueued)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if enqueued := s.take(); enqueued != c.enqueued {
					t.Errorf("the components %q were enqueued after the handover delay, want %q", enqueued, c.enqueued)
				}
			})
		})
	}
}

func TestHandoverOfAnObjectThatDisappearedBeforeAwait(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *watchFixture)
		// enqueued are the components that are enqueued within an hour in which every pass has the same result.
		enqueued string
	}{
		{"enqueues an existing owner once", func(_ *testing.T, s *watchFixture) {
			s.observer.AwaitHandover("us", theirs)
		}, "them"},
		{"enqueues the waiting component once if the owner was released", func(_ *testing.T, s *watchFixture) {
			s.observer.Release("them")
			s.observer.AwaitHandover("us", theirs)
		}, "us"},
		{
			"enqueues no component if the owner is not a component of this reconciler, because no watch shows its object",
			func(_ *testing.T, s *watchFixture) {
				s.observer.AwaitHandover("us", map[manifests.Key]Owner{settings: {}})
			},
			"",
		},
		{"enqueues no component if the object exists with an unreadable owner", func(t *testing.T, s *watchFixture) {
			t.Helper()
			edited := at("5", "them", "u1")
			edited.Annotations = map[string]string{reconciler + "/owner-id": "edited"}
			must(t, s.Add(edited))
			s.observer.AwaitHandover("us", theirs)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWatchFixture(t)
				c.do(t, s)
				var enqueued []string
				for range 60 {
					time.Sleep(time.Minute)
					synctest.Wait()
					if who := s.take(); who != "" {
						enqueued = append(enqueued, who)
						s.observer.AwaitHandover("us", map[manifests.Key]Owner{settings: s.observer.handovers[settings].owner})
					}
				}
				if got := strings.Join(enqueued, ", "); got != c.enqueued {
					t.Errorf("the components %q were enqueued within an hour, want %q", got, c.enqueued)
				}
			})
		})
	}
}

func TestSnapshotShowsTheOwnerThatMayCreateAnAbsentObjectAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *watchFixture)
		// owner is the owner of the absent object in the snapshot of the component "us".
		owner string
	}{
		{"the owner of a deleted object", func(*testing.T, *watchFixture) {}, "them"},
		{"no owner after a pass in which the owner did not render the object", func(_ *testing.T, s *watchFixture) {
			s.observer.ReportOwned("them", ownsNone)
		}, ""},
		{"no owner after the owner was released", func(_ *testing.T, s *watchFixture) {
			s.observer.Release("them")
		}, ""},
		{"no owner of an object that the component does not await", func(_ *testing.T, s *watchFixture) {
			s.observer.AwaitHandover("us", nil)
		}, ""},
		{"no owner for a released component", func(_ *testing.T, s *watchFixture) { s.observer.Release("us") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newWatchFixture(t)
				must(t, s.Add(at("5", "them", "u1")))
				s.observer.AwaitHandover("us", theirs)
				must(t, s.Delete(at("6", "them", "u1")))
				c.do(t, s)
				live := s.observer.SnapshotFor("us", Reader{}, []manifests.Key{settings}).Of(settings)
				if live.Presence != plan.Absent || live.Owner != c.owner {
					t.Errorf("the object is %s with the owner %q, want Absent with the owner %q", live.Presence, live.Owner, c.owner)
				}
			})
		})
	}
}
