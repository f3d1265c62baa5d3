package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// requestTimeout ends requests that get no response in time. A worker waits for each response, so a request without a
// response would block the worker for ever. The timeout is answerTimeout. After a request that timed out, the timeout
// is suspectTimeout until the API server responds again. A watch only has to begin its response within the timeout.
type requestTimeout struct {
	next http.RoundTripper
	// suspect is true after a request that timed out, until the API server responds to a request.
	suspect atomic.Bool
}

const (
	// answerTimeout is equal to the default timeout of requests in the API server.
	answerTimeout  = time.Minute
	suspectTimeout = 5 * time.Second
)

// NewRequestTimeout returns a transport that sends requests by next, and ends requests that get no response in time.
// The error of such a request wraps context.DeadlineExceeded.
func NewRequestTimeout(next http.RoundTripper) http.RoundTripper { return &requestTimeout{next: next} }

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (t *requestTimeout) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *requestTimeout) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := answerTimeout
	if t.suspect.Load() {
		limit = suspectTimeout
	}
	timeout := fmt.Errorf("the API server did not answer within %s: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(limit, func() {
		t.suspect.Store(true)
		cancel(timeout)
	})
	end := func() {
		timer.Stop()
		cancel(context.Canceled)
	}
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), timeout) {
			err = timeout
		}
		end()
		return nil, err
	}
	t.suspect.Store(false)
	if isWatch(r) {
		timer.Stop()
	}
	response.Body = &boundBody{response.Body, ctx, end}
	return response, nil
}

// isWatch reports whether a request is a watch. The response to a watch continues until the client ends the request.
func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// boundBody is the body of a response. If a Read fails because the request timed out, Read returns the cause of the
// context, which is the timeout error. Close ends the request.
type boundBody struct {
	io.ReadCloser
	ctx context.Context
	end func()
}

// Read implements io.Reader.
func (b *boundBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) && context.Cause(b.ctx) != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
