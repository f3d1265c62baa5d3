package observe

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAwait(t *testing.T) {
	wanted := map[manifests.Key]bool{settings: true}
	for _, c := range []struct {
		name string
		// do is what happens to an object that belongs to them, after we began to wait for it.
		do func(t *testing.T, s *store)
		// woken are those who are woken when a moment is over; their own object wakes them at once.
		woken string
	}{
		{"what its owner loses is ours to try", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
		}, "us"},
		{"so is what our own process deleted", func(t *testing.T, s *store) {
			t.Helper()
			s.observer.Writing(settings)(goneAnswer("u1"))
		}, "us"},
		{"and what a list does not name any more", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Replace(nil, "9"))
		}, "us"},
		{"what its owner creates anew stays its own", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			must(t, s.Add(at("7", "them", "u2")))
		}, ""},
		{"what only changes stays its owner's", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Update(at("6", "them", "u1")))
		}, ""},
		{"what goes to yet another is not ours to try", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Update(at("6", "others", "u1")))
		}, ""},
		{"what is not awaited any more wakes nobody", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Await("us", nil)
		}, ""},
		{"nor does what an owner that is gone waited for", func(t *testing.T, s *store) {
			t.Helper()
			must(t, s.Delete(at("6", "them", "u1")))
			s.observer.Release("us")
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				must(t, s.Add(at("5", "them", "u1")))
				s.observer.Await("us", wanted)
				c.do(t, s)
				s.take()
				time.Sleep(awaitGrace - time.Nanosecond)
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
		name  string
		shown bool
		woken string
	}{
		{"is tried again where the watch had shown it", true, "us"},
		{"is left to the interval where it had not: it may have no label of ours", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				s.observer.Await("us", map[manifests.Key]bool{settings: c.shown})
				time.Sleep(awaitGrace)
				synctest.Wait()
				if woken := s.take(); woken != c.woken {
					t.Errorf("woke %q, want %q", woken, c.woken)
				}
			})
		})
	}
}
