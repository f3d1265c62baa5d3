package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// apiOf starts an HTTP API and returns its address.
func apiOf(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestHTTPCallSendsJSONWithItsHeaders(t *testing.T) {
	var got string
	address := apiOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintln(r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"),
			r.Header.Get("X-Zone"), r.Header.Get("Content-Type"), string(body))
		_, _ = io.WriteString(w, `{"id": 9007199254740993}`)
	})
	var answer struct{ ID int64 }
	err := HTTPCall{
		Method: http.MethodPost, URL: address + "/records?zone=a", Token: "hunter2", IdempotencyKey: "k",
		Header: http.Header{"x-zone": {"b"}}, Body: map[string]int{"ttl": 60}, Creates: true,
	}.Do(t.Context(), &answer)
	if err != nil {
		t.Fatal(err)
	}
	if want := "POST /records?zone=a Bearer hunter2 k b application/json {\"ttl\":60}\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if answer.ID != 9007199254740993 {
		t.Errorf("got id %d", answer.ID)
	}

	patch := HTTPCall{
		Method: http.MethodPatch, URL: address, Body: 1,
		Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
	}
	if err := patch.Do(t.Context(), nil); err != nil || !strings.Contains(got, "application/merge-patch+json") {
		t.Errorf("with another type of the body: %q, error %v", got, err)
	}
	if err := (HTTPCall{URL: address}).Do(t.Context(), nil); err != nil || got != "GET /     \n" {
		t.Errorf("without options: %q, error %v", got, err)
	}
}

// nobody is the URL of a port on which no server listens. The port of a closed server may be that of another one.
const nobody = "http://127.0.0.1:1"

func TestErrorsOfAnHTTPCallSayWhetherItHadAnEffect(t *testing.T) {
	answer := func(status int, body string) string {
		return apiOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	for name, c := range map[string]struct {
		call HTTPCall
		want string
	}{
		"success":                             {HTTPCall{URL: answer(200, `{"a": 1}`)}, "nil"},
		"no content":                          {HTTPCall{URL: answer(204, "")}, "nil"},
		"not found":                           {HTTPCall{URL: answer(404, "")}, "ErrNotFound"},
		"not found when creating":             {HTTPCall{URL: answer(404, ""), Creates: true}, "Refused"},
		"conflict when creating":              {HTTPCall{URL: answer(409, ""), Creates: true}, "ErrExists"},
		"a failure of the server":             {HTTPCall{URL: answer(500, "")}, "unknown"},
		"no connection":                       {HTTPCall{URL: nobody}, "unknown"},
		"an answer that is no JSON":           {HTTPCall{URL: answer(200, "<html>")}, "unknown"},
		"an answer above the limit":           {HTTPCall{URL: answer(200, `{"a": 1}`), MaxBytes: 7}, "unknown"},
		"an answer within the limit":          {HTTPCall{URL: answer(200, `{"a": 1}`), MaxBytes: 8}, "nil"},
		"an empty answer":                     {HTTPCall{URL: answer(200, "")}, "unknown"},
		"an empty answer to a write":          {HTTPCall{Method: http.MethodPut, URL: answer(200, "")}, "nil"},
		"a redirect":                          {HTTPCall{Method: http.MethodDelete, URL: answer(302, "")}, "Refused"},
		"an address that cannot be parsed":    {HTTPCall{URL: "http://a b"}, "Refused"},
		"an address without a host":           {HTTPCall{URL: "http:///records"}, "Refused"},
		"an address with another scheme":      {HTTPCall{URL: "ftp://a"}, "Refused"},
		"a token with a newline":              {HTTPCall{URL: answer(200, ""), Token: "hunter2\n"}, "Refused"},
		"a body that cannot be sent as JSON":  {HTTPCall{URL: answer(200, ""), Body: func() {}}, "Refused"},
		"an attempt above the limit, no wait": {HTTPCall{URL: answer(429, "")}, "RefusedFor 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			var result map[string]int
			if got := meaning(c.call.Do(t.Context(), &result)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// roundTripper answers requests without a network.
type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func TestHTTPCallWaitsForTheRateLimit(t *testing.T) {
	for name, c := range map[string]struct {
		retryAfter string
		refusals   int
		want       string
		requests   int
		after      time.Duration
	}{
		"for the time that the API says":         {"7", 2, "nil", 3, 14 * time.Second},
		"with a back-off":                        {"", 4, "nil", 5, 15 * time.Second},
		"not beyond the deadline":                {"60", 100, "RefusedFor 1m0s", 1, 0},
		"as long as the deadline is not reached": {"", 100, "RefusedFor 0s", 5, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests, began := 0, time.Now()
				client := &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
					status, text := http.StatusTooManyRequests, ""
					if requests++; requests > c.refusals {
						body, _ := io.ReadAll(r.Body)
						status, text = http.StatusOK, string(body)
					}
					return &http.Response{
						StatusCode: status, Header: http.Header{"Retry-After": {c.retryAfter}}, Request: r,
						Body: io.NopCloser(strings.NewReader(text)),
					}
				})}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var answer map[string]int
				call := HTTPCall{URL: "https://dns/records", Body: map[string]int{"a": 1}, Waits: true, Client: client}
				if got := meaning(call.Do(ctx, &answer)); got != c.want || c.want == "nil" && answer["a"] != 1 {
					t.Errorf("got %s with answer %v, want %s", got, answer, c.want)
				}
				if after := time.Since(began); requests != c.requests || after != c.after {
					t.Errorf("%d requests in %s, want %d in %s", requests, after, c.requests, c.after)
				}
			})
		})
	}
}

func TestErrorOfAnHTTPCallHasNoQuery(t *testing.T) {
	err := HTTPCall{URL: nobody + "/records?key=hunter2"}.Do(t.Context(), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "GET /records: ") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestHTTPCallIsSentOnceAlthoughItsConnectionBreaks(t *testing.T) {
	for _, key := range []HTTPCall{
		{IdempotencyKey: "k"},
		{Header: http.Header{"Idempotency-Key": {"k"}}},
		{Header: http.Header{"x-idempotency-key": {"k"}}},
	} {
		var creates, withKey atomic.Int32
		address := apiOf(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				creates.Add(1)
				if r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") == "k" {
					withKey.Add(1)
				}
				panic(http.ErrAbortHandler)
			}
		})
		client := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(client.CloseIdleConnections)
		// The create uses the connection of this call.
		if err := (HTTPCall{Method: http.MethodPut, URL: address, Client: client}).Do(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		key.Method, key.URL, key.Body, key.Creates, key.Client = http.MethodPost, address, 1, true, client
		err := key.Do(t.Context(), nil)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused {
			t.Errorf("%v: got error %v, want one that says nothing about the effect", key.Header, err)
		}
		if creates.Load() != 1 || withKey.Load() != 1 {
			t.Errorf("%v: %d requests, %d with the key, want one with the key", key.Header, creates.Load(), withKey.Load())
		}
	}
}
