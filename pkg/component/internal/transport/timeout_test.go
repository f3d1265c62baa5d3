package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server is a fake API server.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// silent accepts a request and never responds.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// stuck is the body of a response that blocks until the request ends.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func answers(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("fine"))}, nil
}

func begins(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(stuck{r.Context()})}, nil
}

// ask sends a request, reads the whole response, and returns the duration of both.
func ask(ctx context.Context, t *testing.T, rt http.RoundTripper, url string) (time.Duration, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	response, err := rt.RoundTrip(request)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	return time.Since(began), err
}

func TestRequestTimeout(t *testing.T) {
	const list, watch = "https://far/api/v1/pods", "https://far/api/v1/pods?watch=true"
	for _, c := range []struct {
		name  string
		serve server
		url   string
		want  time.Duration
	}{
		{"if the server sends no response", silent, list, answerTimeout},
		{"if the server begins a response and does not complete it", begins, list, answerTimeout},
		{"if a watch gets no response", silent, watch, answerTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, err := ask(t.Context(), t, NewRequestTimeout(c.serve), c.url)
				timedOut := errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "did not answer within")
				if took != c.want || !timedOut {
					t.Errorf("the request ended with %v after %s, want the timeout after %s", err, took, c.want)
				}
			})
		})
	}
}

func TestRequestTimeoutDoesNotEndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		took, err := ask(ctx, t, NewRequestTimeout(server(begins)), "https://far/api/v1/pods?watch=1")
		if took != time.Hour || strings.Contains(err.Error(), "did not answer") {
			t.Errorf("the watch ended after %s with %v, want no timeout", took, err)
		}
	})
}

func TestRequestTimeoutIsShorterAfterATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := server(silent)
		rt := NewRequestTimeout(server(func(r *http.Request) (*http.Response, error) { return serve(r) }))
		expect := func(want time.Duration) {
			t.Helper()
			if took, err := ask(t.Context(), t, rt, "https://far/api"); took != want {
				t.Errorf("the request ended after %s (%v), want %s", took, err, want)
			}
		}
		expect(answerTimeout)
		expect(suspectTimeout)
		serve = answers
		expect(0)
		serve = silent
		expect(answerTimeout)
	})
}

func TestRequestTimeoutReturnsTheErrorOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, nil)
		defer cancel()
		took, err := ask(ctx, t, NewRequestTimeout(server(silent)), "https://far/api")
		wrong := strings.Contains(err.Error(), "did not answer")
		if took != time.Second || !errors.Is(err, context.DeadlineExceeded) || wrong {
			t.Errorf("the request ended with %v after %s, want a deadline error after a second", err, took)
		}
	})
}
