package external

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxAnswer is the maximum size of the answer to an HTTPCall, in bytes.
const maxAnswer = 1 << 20

// minWait is the minimum time between two requests of an HTTPCall that waits.
const minWait = time.Second

// HTTPCall is a request with JSON to an HTTP API, whose errors are those of the methods of a Kind.
type HTTPCall struct {
	// Method is the method of the request; GET by default.
	Method string
	// URL is the address, with the query. Required.
	URL string
	// Token is the bearer token. Without it, the request has no header Authorization.
	Token string
	// IdempotencyKey is the header Idempotency-Key, if it is set.
	IdempotencyKey string
	// Header has further headers.
	Header http.Header
	// Body is sent as JSON. Without it, the request has no body.
	Body any
	// Creates is set for the request that creates the external. Then HTTPCreateError makes its errors, otherwise
	// HTTPError does.
	Creates bool
	// Waits repeats a request that the API refuses for a time, such as one above its rate limit, until the context ends.
	// Use it for the pages of a List: a list that begins again at its first page may never reach the last one.
	Waits bool
	// Client sends the request; http.DefaultClient by default.
	Client *http.Client
}

// Do sends the request, and decodes the JSON of the answer into result, unless result is nil or the answer is empty. An
// answer may have at most 1 MiB. An error before the request is sent is Refused. After an error of the connection, and
// after an answer that cannot be decoded, it is not known whether the request had an effect.
func (c HTTPCall) Do(ctx context.Context, result any) error {
	for {
		err := c.once(ctx, result)
		refused, ok := errors.AsType[*RefusedError](err)
		if !c.Waits || !ok || !refused.Temporary {
			return err
		}
		timer := time.NewTimer(max(refused.After, minWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// once sends the request once.
func (c HTTPCall) once(ctx context.Context, result any) error {
	request, err := c.request(ctx)
	if err != nil {
		return Refused(err)
	}
	response, err := cmp.Or(c.Client, http.DefaultClient).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	failure := HTTPError
	if c.Creates {
		failure = HTTPCreateError
	}
	if err := failure(response); err != nil || result == nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: read the answer: %w", request.Method, request.URL.Path, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("%s %s: the answer has more than %d bytes", request.Method, request.URL.Path, maxAnswer)
	case len(bytes.TrimSpace(text)) == 0:
		return nil
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", request.Method, request.URL.Path, err)
	}
	return nil
}

func (c HTTPCall) request(ctx context.Context) (*http.Request, error) {
	var content io.Reader = http.NoBody
	if c.Body != nil {
		text, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, c.Method, c.URL, content)
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if c.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	return request, nil
}
