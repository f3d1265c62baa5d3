package componenttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server answers as an API server would, and counts what reaches it.
type server struct {
	url     string
	reached atomic.Int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.reached.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = fmt.Fprintf(w,
			`{"kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"%d","labels":{"op.example.com/owner-id":"1"}}}`, n)
		if isWatch(r) {
			_ = http.NewResponseController(w).Flush() // The reader of the test would wait.
			<-r.Context().Done()
		}
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

const (
	collection = "/api/v1/namespaces/shop/configmaps"
	object     = collection + "/a"
)

// certain faults happen to every request.
func certain(kind Fault) Faults { return Faults{Percent: 100, Most: 1000, Kinds: []Fault{kind}} }

func send(t *testing.T, transport http.RoundTripper, s *server, method, path string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), errors.Join(err, response.Body.Close())
}

func TestFaultsAreWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		fault   Fault
		method  string
		path    string
		code    int
		reached int64
		timeout bool
	}{
		{Delay, http.MethodGet, object, http.StatusOK, 1, false},
		{Conflict, http.MethodPut, object, http.StatusConflict, 0, false},
		{Conflict, http.MethodGet, object, http.StatusOK, 1, false},
		{TooManyRequests, http.MethodGet, collection, http.StatusTooManyRequests, 0, false},
		{InternalError, http.MethodPost, collection, http.StatusInternalServerError, 0, false},
		{Unsent, http.MethodPost, collection, 0, 0, true},
		{Unanswered, http.MethodPost, collection, 0, 1, true},
		{Expired, http.MethodGet, collection + "?watch=true", http.StatusGone, 0, false},
		{Conflict, http.MethodPost, "/apis/events.k8s.io/v1/namespaces/shop/events", http.StatusCreated, 1, false},
	} {
		t.Run(fmt.Sprintf("%s of %s", c.fault, c.method), func(t *testing.T) {
			s := newServer(t)
			code, _, err := send(t, NewInjector(t.Context(), certain(c.fault)).Wrap(http.DefaultTransport), s, c.method, c.path)
			var netErr net.Error
			timedOut := errors.As(err, &netErr) && netErr.Timeout()
			if code != c.code || s.reached.Load() != c.reached || timedOut != c.timeout {
				t.Errorf("want %+v, got code %d, %d requests, error %v", c, code, s.reached.Load(), err)
			}
		})
	}
}

func TestAStaleReadIsOfTheSameObject(t *testing.T) {
	s := newServer(t)
	injector := NewInjector(t.Context(), certain(Stale))
	transport := injector.Wrap(http.DefaultTransport)
	for range 3 {
		if _, _, err := send(t, transport, s, http.MethodPut, object); err != nil {
			t.Fatal(err)
		}
	}
	if _, body, err := send(t, transport, s, http.MethodGet, object); err != nil || s.reached.Load() != 3 ||
		!strings.Contains(body, `"uid":"u1"`) {
		t.Errorf("want an earlier state without a request, got %q, error %v, %d requests", body, err, s.reached.Load())
	}
	if _, _, err := send(t, transport, s, http.MethodGet, collection+"/b"); err != nil || s.reached.Load() != 4 {
		t.Errorf("an object that was not read before must be read from the server, got error %v after %d requests",
			err, s.reached.Load())
	}
	t1 := target{version: "v1", namespace: "shop", resource: "configmaps", name: "a"}
	injector.pastResponses.keep(t1, "", "u2", &http.Response{Header: http.Header{}}, []byte("recreated"))
	if _, body, err := send(t, transport, s, http.MethodGet, object); err != nil || body != "recreated" {
		t.Errorf("a read of a recreated object must not return the deleted object, got %q, %v", body, err)
	}
}

func TestADecisionDependsOnTheSeedAndTheRequestAlone(t *testing.T) {
	requests := []string{object, object, collection + "/b", collection + "/b", collection + "/c", object}
	faults := func(seed uint64, order []string) string {
		s := newServer(t)
		i := NewInjector(t.Context(), Faults{Seed: seed, Percent: 50, Most: 1000, Kinds: []Fault{Conflict, InternalError}})
		transport := i.Wrap(http.DefaultTransport)
		found := map[string][]int{}
		for _, path := range order {
			code, _, err := send(t, transport, s, http.MethodPut, path)
			if err != nil {
				t.Fatal(err)
			}
			found[path] = append(found[path], code)
		}
		return fmt.Sprint(found)
	}
	reversed := []string{object, collection + "/c", collection + "/b", object, collection + "/b", object}
	differs := false
	for seed := range uint64(20) {
		first := faults(seed, requests)
		if again := faults(seed, reversed); again != first {
			t.Errorf("seed %d: want %s in every order, got %s", seed, first, again)
		}
		differs = differs || first != faults(seed+1, requests)
	}
	if !differs {
		t.Error("all seeds cause the same faults")
	}
}

func TestFaultsAreBounded(t *testing.T) {
	s := newServer(t)
	faults := certain(InternalError)
	faults.Most = 3
	i := NewInjector(t.Context(), faults)
	transport := i.Wrap(http.DefaultTransport)
	failed := 0
	for range 10 {
		if code, _, _ := send(t, transport, s, http.MethodGet, object); code != http.StatusOK {
			failed++
		}
	}
	if failed != 3 || i.counts()[InternalError] != 3 {
		t.Errorf("want 3 failures, got %d", failed)
	}
}

func TestNothingGetsThroughAfterACrash(t *testing.T) {
	s := newServer(t)
	i := NewInjector(t.Context(), Faults{Percent: -1})
	first := i.Wrap(http.DefaultTransport)
	life := i.revive(t.Context())
	if _, _, err := send(t, first, s, http.MethodGet, object); !errors.Is(err, errStopped) {
		t.Errorf("want an error for a request of the previous process, got %v", err)
	}
	transport := i.Wrap(http.DefaultTransport)
	stream := watch(t, transport, s)
	i.begin("step", []int{2}, nil)
	if _, _, err := send(t, transport, s, http.MethodPut, object); err != nil {
		t.Fatal(err)
	}
	if _, _, err := send(t, transport, s, http.MethodPut, object); !errors.Is(err, errStopped) || life.Err() == nil {
		t.Errorf("want the crash, got %v", err)
	}
	reached := s.reached.Load()
	if _, _, err := send(t, transport, s, http.MethodPut, object); !errors.Is(err, errStopped) ||
		s.reached.Load() != reached {
		t.Errorf("want a refusal, got %v", err)
	}
	if _, err := io.ReadAll(stream); err == nil {
		t.Error("a watch of a stopped process did not end")
	}
	i.revive(t.Context())
	if _, _, err := send(t, i.Wrap(http.DefaultTransport), s, http.MethodPut, object); err != nil {
		t.Errorf("a request of the next process failed: %v", err)
	}
}

func watch(t *testing.T, transport http.RoundTripper, s *server) io.ReadCloser {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet,
		s.url+collection+"?watch=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Body
}

func TestAWatchIsCutOrLagsBehind(t *testing.T) {
	s := newServer(t)
	stream := watch(t, NewInjector(t.Context(), certain(Cut)).Wrap(http.DefaultTransport), s)
	if body, err := io.ReadAll(stream); !errors.Is(err, io.ErrUnexpectedEOF) || len(body) == 0 {
		t.Errorf("want an event and the end, got %q, %v", body, err)
	}
	stream = watch(t, NewInjector(t.Context(), certain(Lag)).Wrap(http.DefaultTransport), s)
	before := time.Now()
	if n, err := stream.Read(make([]byte, 1000)); err != nil || n == 0 || time.Since(before) < 20*time.Millisecond {
		t.Errorf("want an event, late; got %d bytes after %s, %v", n, time.Since(before), err)
	}
}

func TestCreationsAreCounted(t *testing.T) {
	s := newServer(t)
	i := NewInjector(t.Context(), certain(Unanswered))
	transport := i.Wrap(http.DefaultTransport)
	for range 2 {
		_, _, _ = send(t, transport, s, http.MethodPost, collection) // The answer is lost, and counts all the same.
	}
	_, _, _ = send(t, transport, s, http.MethodPut, object)
	if got := fmt.Sprint(i.tally.creations()); got != "map[configmaps. shop/a:2]" {
		t.Error(got)
	}
}

func TestResourceOf(t *testing.T) {
	for path, want := range map[string]target{
		"/api/v1/namespaces/shop/configmaps/a": {
			version: "v1", namespace: "shop", resource: "configmaps",
			name: "a",
		},
		"/api/v1/namespaces/shop": {version: "v1", resource: "namespaces", name: "shop"},
		"/api/v1/namespaces/shop/finalize": {
			version: "v1", resource: "namespaces", name: "shop",
			subresource: "finalize",
		},
		"/apis/apps/v1/deployments": {group: "apps", version: "v1", resource: "deployments"},
		"/apis/apps/v1/namespaces/shop/deployments/a/scale": {
			group: "apps", version: "v1", namespace: "shop",
			resource: "deployments", name: "a", subresource: "scale",
		},
		"/apis/apps/v1": {},
		"/api":          {},
		"/version":      {},
	} {
		if got := resourceOf(path); got != want {
			t.Errorf("%s: want %+v, got %+v", path, want, got)
		}
	}
}
