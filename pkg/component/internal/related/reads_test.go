package related

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// slowServer answers a GET with the object of the moment of the request, when the test releases the answer.
type slowServer struct {
	dynamic.Interface
	dynamic.NamespaceableResourceInterface
	gates chan chan struct{}

	mu   sync.Mutex
	gets int
	live *corev1.ConfigMap
	err  error
}

func (s *slowServer) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return s
}
func (s *slowServer) Namespace(string) dynamic.ResourceInterface { return s }

func (s *slowServer) Get(
	ctx context.Context, _ string, _ metav1.GetOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	s.gets++
	live, err := s.live, s.err
	s.mu.Unlock()
	gate := make(chan struct{})
	select {
	case s.gates <- gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	return &unstructured.Unstructured{Object: content}, err
}

// set sets the object, or the error, of later requests.
func (s *slowServer) set(live *corev1.ConfigMap, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.err = live, err
}

func (s *slowServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets
}

// slow returns a relation of the components a to h whose requests wait for the test.
func slow(t *testing.T, o Options) (*relation, *slowServer) {
	t.Helper()
	r, server := newRelation(t, o), &slowServer{gates: make(chan chan struct{})}
	r.informer.reader.cluster.Dynamic = server
	server.set(configMap(sharedName, "1", "x"), nil)
	r.track(t, "a", "b", "c", "d", "e", "f", "g", "h")
	r.list(t, configMap(sharedName, "1", "x"))
	r.Wakes()
	return r, server
}

// release lets the oldest waiting request end.
func (s *slowServer) release() {
	close(<-s.gates)
	synctest.Wait()
}

// answer is the result of a concurrent reader.
type answer struct {
	value, digest string
	err           error
}

// read reads the value and the digest for a component in a goroutine.
func (r *relation) read(ctx context.Context, name string) *answer {
	a := &answer{}
	go func() {
		var found []client.Object
		if found, a.err = r.Get(ctx, key(name)); a.err != nil {
			return
		}
		for _, obj := range found {
			if c, ok := obj.(*corev1.ConfigMap); ok {
				a.value += c.Data["value"]
			}
		}
		var in eventsources.Input
		in, a.err = r.Input(ctx, key(name))
		a.digest = in.Digest
	}()
	synctest.Wait()
	return a
}

func TestConcurrentPassesShareOneReadAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{})
		var answers []*answer
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			answers = append(answers, r.read(t.Context(), name))
		}
		server.release()
		for _, a := range answers {
			if a.err != nil || a.value != "x" || a.digest == "" {
				t.Errorf("got %+v", a)
			}
		}
		if n := server.count(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestAReadDoesNotEndWithOneOfItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		first, second := r.read(ctx, "a"), r.read(t.Context(), "b")
		cancel()
		synctest.Wait()
		if first.err == nil {
			t.Error("a caller waits after the end of its context")
		}
		server.release()
		if second.err != nil || second.value != "x" || server.count() != 1 {
			t.Errorf("got %+v after %d requests", second, server.count())
		}
	})
}

func TestAFailedReadIsReportedToItsCallersAndRepeatedByLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{})
		server.set(nil, errDown)
		first, second := r.read(t.Context(), "a"), r.read(t.Context(), "b")
		server.release()
		if first.err == nil || second.err == nil || server.count() != 1 {
			t.Errorf("got %+v and %+v after %d requests", first, second, server.count())
		}
		server.set(configMap(sharedName, "1", "x"), nil)
		third := r.read(t.Context(), "a")
		server.release()
		if third.err != nil || third.value != "x" {
			t.Errorf("got %+v", third)
		}
	})
}

func TestAPassThatKnowsANewerVersionDoesNotShareAnEarlierRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{})
		first := r.read(t.Context(), "a")
		server.set(configMap(sharedName, "11", "y"), nil)
		r.update(t, configMap(sharedName, "11", "y"))
		second := r.read(t.Context(), "b")
		server.release()
		server.release()
		if first.err != nil || second.err != nil || second.value != "y" {
			t.Errorf("got %+v and %+v", first, second)
		}
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=y"}) || server.count() != 2 {
			t.Errorf("got %v after %d requests", got, server.count())
		}
	})
}

func TestAReadThatIsAheadOfTheWatchIsNotRepeatedAfterItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{})
		server.set(configMap(sharedName, "11", "y"), nil)
		first := r.read(t.Context(), "a")
		server.release()
		if first.err != nil || first.value != "y" {
			t.Errorf("got %+v", first)
		}
		r.Expect(t, "a", "b", "c", "d", "e", "f", "g", "h")
		r.update(t, configMap(sharedName, "11", "y"))
		r.Expect(t)
		if second := r.read(t.Context(), "b"); second.err != nil || second.value != "y" || server.count() != 1 {
			t.Errorf("got %+v after %d requests", second, server.count())
		}
	})
}

func TestAnObjectThatTheSelectorDoesNotSelectAnyMoreIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Selector: "published=yes"})
		first := r.read(t.Context(), "a")
		server.release()
		if first.err != nil || first.value != "" {
			t.Errorf("got %+v", first)
		}
	})
}

func TestAMissingRightToGetIsAnErrorUntilItIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		refused := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, sharedName, errDown)
		server.set(nil, refused)
		first := r.read(t.Context(), "a")
		server.release()
		if !apierrors.IsForbidden(first.err) || !strings.HasPrefix(first.err.Error(), "read ConfigMap ns/shared: ") {
			t.Errorf("Get: %v", first.err)
		}
		byName := make(chan error, 1)
		go func() {
			_, err := r.GetNamed(t.Context(), key("a"), key(sharedName))
			byName <- err
		}()
		server.release()
		if err := <-byName; !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "read ConfigMap ns/shared: ") {
			t.Errorf("GetNamed: %v", err)
		}
		input := make(chan error, 1)
		go func() {
			_, err := r.Input(t.Context(), key("a"))
			input <- err
		}()
		server.release()
		if err := <-input; !apierrors.IsForbidden(err) || strings.Count(err.Error(), "ns/shared") != 1 {
			t.Errorf("Input: %v", err)
		}

		t.Log("a change wakes, because it cannot be compared")
		r.update(t, configMap(sharedName, "11", "x"))
		r.Expect(t, everybody...)
		server.release()
		r.Expect(t)

		t.Log("the right is granted")
		server.set(configMap(sharedName, "11", "x"), nil)
		r.readOnce(t, server)
		r.change(t, server, configMap(sharedName, "12", "x"))
		server.release()
		r.Expect(t)
		r.change(t, server, configMap(sharedName, "13", "y"))
		server.release()
		r.Expect(t, everybody...)
	})
}
