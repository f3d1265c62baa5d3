package external

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

	if err := (HTTPCall{URL: address}).Do(t.Context(), nil); err != nil || got != "GET /     \n" {
		t.Errorf("without options: %q, error %v", got, err)
	}
}

func TestErrorsOfAnHTTPCallSayWhetherItHadAnEffect(t *testing.T) {
	answer := func(status int, body string) string {
		return apiOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
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
		"no connection":                       {HTTPCall{URL: closed.URL}, "unknown"},
		"an answer that is no JSON":           {HTTPCall{URL: answer(200, "<html>")}, "unknown"},
		"an answer above the limit":           {HTTPCall{URL: answer(200, strings.Repeat(" ", maxAnswer+1))}, "unknown"},
		"an address that cannot be parsed":    {HTTPCall{URL: "http://a b"}, "Refused"},
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

func TestHTTPCallWaitsForTheRateLimit(t *testing.T) {
	requests := 0
	address := apiOf(t, func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 || r.URL.Path == "/never" {
			w.Header().Set("Retry-After", map[bool]string{true: "60"}[r.URL.Path == "/never"])
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	var answer map[string]int
	err := HTTPCall{URL: address, Body: map[string]int{"a": 1}, Waits: true}.Do(t.Context(), &answer)
	if err != nil || answer["a"] != 1 || requests != 2 {
		t.Errorf("got %v after %d requests, error %v", answer, requests, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := meaning(HTTPCall{URL: address + "/never", Waits: true}.Do(ctx, nil)); got != "RefusedFor 1m0s" {
		t.Errorf("got %s at the end of the context, want the last refusal", got)
	}
}
