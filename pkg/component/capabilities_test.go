package component

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
)

// catalog answers as discovery does.
type catalog struct {
	lists []*metav1.APIResourceList
	err   error
	// answer holds up all answers until it is closed, where it is set.
	answer chan struct{}
	asked  atomic.Int32
}

func (c *catalog) ServerVersionWithContext(context.Context) (*version.Info, error) {
	return &version.Info{GitVersion: "v1.36.3"}, nil
}

func (c *catalog) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	c.asked.Add(1)
	if c.answer != nil {
		<-c.answer
	}
	return nil, c.lists, c.err
}

func servingFrom(t *testing.T, c *catalog) *serving {
	t.Helper()
	s := newServing(t.Context(), &connection{})
	s.discovery, s.follow = c, func(func()) {}
	return s
}

// inTime fails a test where something waits that must not.
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
		{"with an answer", nil},
		{"without", errors.New("no answer")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				about := &catalog{answer: make(chan struct{}), err: c.err}
				s := servingFrom(t, about)
				var answered atomic.Int32
				for range 3 {
					go func() {
						if _, _, err := s.current(); errors.Is(err, c.err) {
							answered.Add(1)
						}
					}()
				}
				synctest.Wait()
				close(about.answer)
				synctest.Wait()
				if asked, answered := about.asked.Load(), answered.Load(); asked != 1 || answered != 3 {
					t.Errorf("asked %d times for %d", asked, answered)
				}
			})
		})
	}
}

func TestNobodyWaitsForDiscoveryToComeOrGo(t *testing.T) {
	about := &catalog{answer: make(chan struct{})}
	s := servingFrom(t, about)
	asking := make(chan struct{})
	go func() {
		defer close(asking)
		_, _, _ = s.current()
	}()
	for about.asked.Load() == 0 {
		runtime.Gosched()
	}
	inTime(t, "who comes", func() { s.retain("a", "", func() {}) })
	inTime(t, "who goes", func() { s.release("a") })
	close(about.answer)
	<-asking
}

func TestForgettingHoldsUpNoOtherComponent(t *testing.T) {
	r := NewReconciler[Component]("shops.example.com", nil, Options{})
	pool, _ := opened(t)
	engine, err := pool.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.local, r.remotes, r.inputs = engine, pool, observe.NewReferences(t.Context(), nil, r.name)
	gone := types.NamespacedName{Name: "gone"}
	r.rhythms[gone] = rhythm{}

	pool.mu.Lock()
	forgotten := make(chan struct{})
	go func() {
		defer close(forgotten)
		r.forget(gone)
	}()
	inTime(t, "another component", func() {
		for known := true; known; {
			r.mu.Lock()
			_, known = r.rhythms[gone]
			r.mu.Unlock()
		}
	})
	pool.mu.Unlock()
	<-forgotten
}
