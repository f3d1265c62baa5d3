package componenttest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// counting starts a server that counts the requests with the body "text".
func counting(t *testing.T) (url string, count *atomic.Int32) {
	t.Helper()
	count = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && string(text) == "text" {
			count.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, count
}

// sendCall makes a call, and returns the status of the answer.
func sendCall(t *testing.T, i *Injector, method, url, key string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", key)
	response, err := (&http.Client{Transport: i.WrapCalls(http.DefaultTransport)}).Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestCallsMeetFaults(t *testing.T) {
	for _, tc := range []struct {
		fault       Fault
		method, key string
		delivered   int32
		code        int
	}{
		{CloudDelay, http.MethodPost, "", 1, http.StatusOK},
		{CloudError, http.MethodPost, "", 0, 0},
		{CloudLimit, http.MethodPost, "", 0, http.StatusTooManyRequests},
		{CloudLost, http.MethodPost, "", 1, 0},
		{CloudTwice, http.MethodPut, "", 2, http.StatusOK},
		{CloudTwice, http.MethodPost, "", 1, http.StatusOK},
		{CloudTwice, http.MethodPost, "key", 2, http.StatusOK},
	} {
		t.Run(string(tc.fault)+" "+tc.method+" "+tc.key, func(t *testing.T) {
			url, count := counting(t)
			i := NewInjector(t.Context(), Faults{Percent: 100, Kinds: []Fault{tc.fault}})
			code, err := sendCall(t, i, tc.method, url, tc.key)
			if code != tc.code || count.Load() != tc.delivered || (err == nil) != (code != 0) {
				t.Errorf("the answer is %d, error %v, after %d requests", code, err, count.Load())
			}
		})
	}
}

func TestNoCallOutlivesItsProcess(t *testing.T) {
	url, count := counting(t)
	effects := map[int32]bool{}
	for seed := range uint64(16) {
		count.Store(0)
		i := NewInjector(t.Context(), Faults{Seed: seed, Percent: -1})
		i.begin("step", []int{1}, nil)
		if _, err := sendCall(t, i, http.MethodGet, url, ""); err != nil {
			t.Fatal(err) // A poll.
		}
		if _, err := sendCall(t, i, http.MethodPost, url, ""); !errors.Is(err, errStopped) {
			t.Fatalf("the call at the crash returned %v", err)
		}
		effects[count.Load()] = true
		if _, err := sendCall(t, i, http.MethodPost, url, ""); !errors.Is(err, errStopped) {
			t.Fatalf("a call after the crash returned %v", err)
		}
		i.revive(t.Context())
		if code, err := sendCall(t, i, http.MethodPost, url, ""); code != http.StatusOK {
			t.Fatalf("a call of the next process returned %d, %v", code, err)
		}
	}
	if !effects[1] || !effects[2] {
		t.Errorf("the call at the crash took effect always or never: %v", effects)
	}
}
