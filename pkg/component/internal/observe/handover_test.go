package observe

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var theirs = map[manifests.Key]string{settings: "them"}

func all(manifests.Key) bool { return true }

func none(manifests.Key) bool { return false }

func TestAwait(t *testing.T) {
	for _, c := range []struct {
		name string
		// do is what happens to an object that belongs to them, after we began to wait for it.
		do func(t *testing.T, s *watchFixture)
		// woken are those who are woken when a moment is over; their own object wakes them at once.
		woken string
	}{
		{"what goes while its owner lives is its own to create anew, who is asked", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
		}, "them"},
		{"also after a pass of its owner that could not yet", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("them", all)
		}, "them"},
		{"what its owner gave up is ours to try", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("them", none)
		}, "us"},
		{"also where its watch shows the end later", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.ReportOwned("them", none)
			must(t, s.Delete(at("6", "them", "u1")))
		}, "us"},
		{"not where its owner wants it again", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("them", none)
			s.observer.ReportOwned("them", all)
		}, "them"},
		{"what others give up does not count", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.ReportOwned("others", none)
		}, "them"},
		{"what its owner leaves is ours to try", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Release("them")
		}, "us"},
		{"so is what our own process deleted", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.BeginWrite(settings)(deleteAnswer("u1"))
			s.observer.Release("them")
		}, "us"},
		{"and what a list does not name any more", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.Release("them")
			must(t, s.Replace(nil, "9"))
		}, "us"},
		{"and what is released before it goes", func(t *testing.T, s *watchFixture) {
			t.Helper()
			released := answer("6")
			released.Owner = ""
			s.observer.BeginWrite(settings)(released)
			s.observer.ReportOwned("them", none)
			must(t, s.Delete(at("7", "", "u1")))
		}, "us"},
		{"what an owner leaves behind stays its own", func(t *testing.T, s *watchFixture) {
			t.Helper()
			s.observer.Release("them")
		}, ""},
		{"what its owner creates anew stays its own", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			must(t, s.Add(at("7", "them", "u2")))
		}, ""},
		{"what only changes stays its owner's", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Update(at("6", "them", "u1")))
		}, ""},
		{"what goes to yet another is not ours to try", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Update(at("6", "others", "u1")))
		}, ""},
		{"what is not awaited any more wakes nobody", func(t *testing.T, s *watchFixture) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Release("them")
			s.observer.AwaitHandover("us", nil)
		}, ""},
		{"nor does what an owner that is gone waited for", func(t *testing.T, s *watchFixture) {
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
				if woken := s.take(); woken != "" {
					t.Errorf("woke %s too early", woken)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if woken := s.take(); woken != c.woken {
					t.Errorf("woke %q, want %q", woken, c.woken)
				}
			})
		})
	}
}

func TestAwaitWhatWentMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *watchFixture)
		// woken are those who are woken within an hour in which every pass ends with the same.
		woken string
	}{
		{"is asked for once where its owner lives, as far as the watch shows", func(_ *testing.T, s *watchFixture) {
			s.observer.AwaitHandover("us", theirs)
		}, "them"},
		{"is tried once where its owner is gone", func(_ *testing.T, s *watchFixture) {
			s.observer.Release("them")
			s.observer.AwaitHandover("us", theirs)
		}, "us"},
		{"is left to the interval where nobody of ours has it: no watch may show it", func(_ *testing.T, s *watchFixture) {
			s.observer.AwaitHandover("us", map[manifests.Key]string{settings: ""})
		}, ""},
		{"is left to the interval where it is there, and its marks are nobody's", func(t *testing.T, s *watchFixture) {
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
				var woken []string
				for range 60 {
					time.Sleep(time.Minute)
					synctest.Wait()
					if who := s.take(); who != "" {
						woken = append(woken, who)
						s.observer.AwaitHandover("us", map[manifests.Key]string{settings: s.observer.handovers[settings].owner})
					}
				}
				if got := strings.Join(woken, ", "); got != c.woken {
					t.Errorf("woke %q, want %q", got, c.woken)
				}
			})
		})
	}
}
