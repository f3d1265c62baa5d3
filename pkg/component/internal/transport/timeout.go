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

// requestTimeout bounds how long an API server may take to answer. A worker waits for each answer, so a request that
// is never answered would block the worker for ever. A request has answerTimeout. After a request that timed out, the
// limit is suspectTimeout until the API server answers again. For a watch, only the time until its answer begins is
// bounded.
type requestTimeout struct {
	next http.RoundTripper
	// suspect is true if the last request that ended had timed out.
	suspect atomic.Bool
}

const (
	// answerTimeout is also the limit that an API server sets for a request by default.
	answerTimeout  = time.Minute
	suspectTimeout = 5 * time.Second
)

// NewRequestTimeout returns a transport that ends requests which next does not answer in time. The error of such a
// request wraps context.DeadlineExceeded.
func NewRequestTimeout(next http.RoundTripper) http.RoundTripper { return &requestTimeout{next: next} }

// WrappedRoundTripper returns the transport beneath, for client-go.
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

// isWatch reports whether the answer to a request goes on until the client ends it.
func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// boundBody is the body of an answer. A failed Read returns the cause of the context, and Close ends the request.
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
