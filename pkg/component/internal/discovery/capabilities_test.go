package discovery

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

// catalog is a fake discovery client.
type catalog struct {
	lists []*metav1.APIResourceList
	err   error
	// If answer is set, every response waits until answer is closed.
	answer chan struct{}
	asked  atomic.Int32
}

func (c *catalog) ServerVersionWithContext(context.Context) (*version.Info, error) {
	return &version.Info{GitVersion: "v1.36.3"}, nil
}

func (c *catalog) ServerGroupsAndResourcesWithContext(
	context.Context,
) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	c.asked.Add(1)
	if c.answer != nil {
		<-c.answer
	}
	return nil, c.lists, c.err
}

func cacheOf(t *testing.T, c *catalog) *capabilityCache {
	t.Helper()
	return newCapabilityCache(t.Context(), c)
}

// inTime fails a test if do does not return in time.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal(what + " waits")
	}
}

func TestDiscoveryIsReadOnceForAllWhoAsk(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
	}{
		{"successfully", nil},
		{"with an error", errors.New("no answer")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				about := &catalog{answer: make(chan struct{}), err: c.err}
				s := cacheOf(t, about)
				var answered atomic.Int32
				for range 3 {
					go func() {
						if _, err := s.current(t.Context()); errors.Is(err, c.err) {
							answered.Add(1)
						}
					}()
				}
				synctest.Wait()
				close(about.answer)
				synctest.Wait()
				if asked, answered := about.asked.Load(), answered.Load(); asked != 1 || answered != 3 {
					t.Errorf("%d requests were sent, and %d callers got the result; want 1 request for 3 callers", asked, answered)
				}
			})
		})
	}
}

func TestAWorkerDoesNotWaitForDiscoveryForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		about := &catalog{answer: make(chan struct{})}
		s := cacheOf(t, about)
		began := time.Now()
		if _, err := s.current(t.Context()); !errors.Is(err, errNoAnswerYet) || time.Since(began) != firstWait {
			t.Errorf("current returned after %s with %v, want errNoAnswerYet after firstWait", time.Since(began), err)
		}
		stopping, stop := context.WithCancel(t.Context())
		stop()
		if _, err := s.current(stopping); !errors.Is(err, context.Canceled) {
			t.Errorf("current returned %v while the operator stops, want context.Canceled", err)
		}
		close(about.answer)
		synctest.Wait()
		if _, err := s.current(t.Context()); err != nil || about.asked.Load() != 1 {
			t.Errorf("current returned after %d requests with the error %v, want 1 request and no error",
				about.asked.Load(), err)
		}
	})
}

func TestNobodyWaitsForDiscoveryToComeOrGo(t *testing.T) {
	about := &catalog{answer: make(chan struct{})}
	s := cacheOf(t, about)
	asking := make(chan struct{})
	go func() {
		defer close(asking)
		_, _ = s.current(t.Context())
	}()
	for about.asked.Load() == 0 {
		runtime.Gosched()
	}
	inTime(t, "subscribe", func() { s.subscribe("a", "", func() {}) })
	inTime(t, "unsubscribe", func() { s.unsubscribe("a") })
	close(about.answer)
	<-asking
}

// serves returns a catalog with a kind of one group, and with other groups whose discovery fails.
func serves(group, kind string, failing ...string) *catalog {
	c := &catalog{lists: []*metav1.APIResourceList{{
		GroupVersion: group + "/v1",
		APIResources: []metav1.APIResource{{Name: "all", Kind: kind}, {Name: "all/status", Kind: kind}},
	}}}
	failed := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{}}
	for _, f := range failing {
		failed.Groups[schema.GroupVersion{Group: f, Version: "v1"}] = errors.New("stale")
		c.err = failed
	}
	return c
}

func TestWhatIsServedByGroupsThatDoNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name         string
		readings     []*catalog
		versions     []string
		undiscovered []string
	}{
		{
			"is unknown after the first reading",
			[]*catalog{serves("a", "A", "c", "b")},
			[]string{"a/v1", "a/v1/A"},
			[]string{"b/v1", "c/v1"},
		},
		{
			"is unknown after two failures",
			[]*catalog{serves("a", "A", "b"), serves("a", "A", "b")},
			[]string{"a/v1", "a/v1/A"},
			[]string{"b/v1"},
		},
		{
			"is the kinds of the previous reading",
			[]*catalog{serves("b", "B"), serves("a", "A", "b")},
			[]string{"a/v1", "a/v1/A", "b/v1", "b/v1/B"},
			nil,
		},
		{
			"is the kinds of the last successful reading",
			[]*catalog{serves("a", "A", "b"), serves("b", "B"), serves("a", "A", "b")},
			[]string{"a/v1", "a/v1/A", "b/v1", "b/v1/B"},
			nil,
		},
		{
			"is nothing if the group is new",
			[]*catalog{serves("a", "A"), serves("a", "A", "b")},
			[]string{"a/v1", "a/v1/A"},
			nil,
		},
		{
			"is nothing if the group disappeared in between",
			[]*catalog{serves("a", "A", "b"), serves("a", "A"), serves("a", "A", "b")},
			[]string{"a/v1", "a/v1/A"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cacheOf(t, nil)
			for _, s.server = range c.readings {
				if err := s.refresh(); err != nil {
					t.Fatal(err)
				}
			}
			now := s.known()
			if diff := cmp.Diff(c.versions, now.APIVersions.All()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.undiscovered, now.Undiscovered); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAGroupThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		about *catalog
		again bool
	}{
		{"if the kinds of the group are unknown", serves("a", "A", "b"), true},
		{"but not if all groups respond", serves("a", "A"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cacheOf(t, c.about)
			if _, err := s.current(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := len(s.kick) > 0; again != c.again {
				t.Errorf("the next read of discovery is requested: %t, want the opposite", again)
			}
		})
	}
}

func TestSubscribersWakeAfterAnAnswerThatContradictsTheLastReading(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     string
		versions []string
		served   bool
		woken    int
	}{
		{"a kind of the last reading is not served", "A", nil, false, 1},
		{"a kind of the last reading is not served in its version", "A", []string{"v1"}, false, 1},
		{"a kind of the last reading is not served in another version", "A", []string{"v2"}, false, 0},
		{"a kind that the last reading lacks is served", "B", nil, true, 1},
		{"a kind of the last reading is served", "A", nil, true, 0},
		{"a kind that the last reading lacks is not served", "B", nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, woken := cacheOf(t, serves("a", "A")), 0
			now, err := s.current(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.subscribe("owner", now.Digest, func() { woken++ })
			s.answered(c.served, schema.GroupKind{Group: "a", Kind: c.kind}, c.versions...)
			for range 2 {
				if err := s.refresh(); err != nil {
					t.Fatal(err)
				}
			}
			if woken != c.woken {
				t.Errorf("two readings with equal results woke the subscriber %d times, want %d", woken, c.woken)
			}
		})
	}
}

func TestAnswersAboutAGroupThatDoesNotRespondWakeNobody(t *testing.T) {
	s, woken := cacheOf(t, serves("a", "A")), 0
	now, err := s.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.server = serves("b", "B", "a")
	s.subscribe("owner", now.Digest, func() { woken++ })
	if err := s.refresh(); err != nil {
		t.Fatal(err)
	}
	woken = 0
	s.subscribe("owner", s.known().Digest, func() { woken++ })
	s.answered(false, schema.GroupKind{Group: "a", Kind: "A"})
	if err := s.refresh(); err != nil || woken != 0 {
		t.Errorf("the subscriber was woken %d times, with the error %v", woken, err)
	}
}

func TestARenderingIsDoneAgainWhen(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after *catalog
		woken         int
	}{
		{"other kinds are served", serves("a", "A"), serves("b", "B"), 1},
		{"an undiscovered group is no longer served", serves("a", "A", "b"), serves("a", "A"), 1},
		{"but not if nothing changed", serves("a", "A", "b"), serves("a", "A", "b"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, woken := cacheOf(t, c.before), 0
			now, err := s.current(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.subscribe("owner", now.Digest, func() { woken++ })
			s.server = c.after
			if err := s.refresh(); err != nil || woken != c.woken {
				t.Errorf("refresh enqueued the components %d times, with the error %v", woken, err)
			}
		})
	}
}
