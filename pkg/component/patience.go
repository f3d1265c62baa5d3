package component

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// patience bounds how long an API server may take to answer: a worker waits for it, and one that accepts a request and never answers would
// keep it for ever. A request has answerTimeout, which is what an API server itself gives a request, and once one was not answered
// doubtTimeout, until something is answered again. Of a watch only the beginning is bounded.
type patience struct {
	next http.RoundTripper
	// doubt says that the last request that ended was not answered.
	doubt atomic.Bool
}

const (
	answerTimeout = time.Minute
	doubtTimeout  = 5 * time.Second
)

func newPatience(next http.RoundTripper) http.RoundTripper { return &patience{next: next} }

// WrappedRoundTripper lets client-go find the transport beneath.
func (p *patience) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := answerTimeout
	if p.doubt.Load() {
		limit = doubtTimeout
	}
	unanswered := fmt.Errorf("the API server did not answer within %s: %w", limit, context.DeadlineExceeded)
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(limit, func() {
		p.doubt.Store(true)
		cancel(unanswered)
	})
	end := func() {
		timer.Stop()
		cancel(context.Canceled)
	}
	response, err := p.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), unanswered) {
			err = unanswered
		}
		end()
		return nil, err
	}
	p.doubt.Store(false)
	if watches(r) {
		timer.Stop()
	}
	response.Body = &boundBody{response.Body, ctx, end}
	return response, nil
}

// watches says of a request that its answer goes on until somebody ends it.
func watches(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// boundBody is the body of an answer, whose reading says why it was ended, and whose end ends the request.
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
