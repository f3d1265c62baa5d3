package external

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/fairlead-io/fairlead/internal/backoff"
)

// defaultMaxAnswer is the default of HTTPCall.MaxBytes.
const defaultMaxAnswer = 1 << 20

// waits are the times before an HTTPCall repeats a refused request, if the API says no time. They have no limit,
// because the deadline of the context ends them.
var waits = backoff.Backoff{First: time.Second, Last: math.MaxInt64}

// HTTPCall is a request with JSON to an HTTP API, whose errors are those of the methods of a Kind.
type HTTPCall struct {
	// Method is the method of the request; GET by default.
	Method string
	// URL is the address, with the query. Required.
	URL string
	// Token is the bearer token. Without it, the request has no header Authorization.
	Token string
	// IdempotencyKey is the header Idempotency-Key, if it is set. Its name is sent in lower case; see Do.
	IdempotencyKey string
	// Header has further headers. The Content-Type of a body is application/json by default.
	Header http.Header
	// Body is sent as JSON. Without it, the request has no body.
	Body any
	// Creates is set for the request that creates the external. Then HTTPCreateError makes its errors, otherwise
	// HTTPError does.
	Creates bool
	// Waits repeats a request that the API refuses for a time, such as one above its rate limit, if that time is over
	// before the deadline of the context. If the API says no time, the waits are a second, two seconds, and so on. Use it
	// for the pages of a List: a list that begins again at its first page may never reach the last one.
	Waits bool
	// MaxBytes is the maximum size of the answer; 1 MiB by default.
	MaxBytes int64
	// Client sends the request; http.DefaultClient by default. Without CheckRedirect, redirects are not followed, because
	// the request after a redirect may be a GET.
	Client *http.Client
}

// Do sends the request, and decodes the answer into result as encoding/json does, unless result is nil. The answer may
// be empty if its status is 204, or if the method is not GET.
//
// A request that may have had an effect is sent once, also if the API does not honour its idempotency key. An
// http.Transport would repeat it if its connection breaks, so the names of the headers Idempotency-Key and
// X-Idempotency-Key are sent in lower case, in which the transport does not notice them.
//
// An error before the request is sent is Refused, and so is a redirect. After an error of the connection, and after an
// answer that is too large or cannot be decoded, it is not known whether the request had an effect. An error contains
// the path of the address without the query.
func (c HTTPCall) Do(ctx context.Context, result any) error {
	for refusals := 1; ; refusals++ {
		err := c.once(ctx, result)
		refused, ok := errors.AsType[*RefusedError](err)
		if !c.Waits || !ok || !refused.Temporary {
			return err
		}
		after := cmp.Or(refused.After, waits.After(refusals))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= after {
			return err
		}
		timer := time.NewTimer(after)
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
	name := request.Method + " " + request.URL.Path
	client := *cmp.Or(c.Client, http.DefaultClient)
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	response, err := client.Do(request)
	if cause, ok := errors.AsType[*url.Error](err); ok {
		err = cause.Err // The text of the outer error contains the query.
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { _ = response.Body.Close() }()
	failure := HTTPError
	if c.Creates {
		failure = HTTPCreateError
	}
	if err := failure(response); err != nil {
		return err
	}
	limit := cmp.Or(c.MaxBytes, defaultMaxAnswer)
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	isEmpty := len(bytes.TrimSpace(text)) == 0
	switch {
	case result == nil:
		return nil
	case err != nil:
		return fmt.Errorf("%s: read the answer: %w", name, err)
	case int64(len(text)) > limit:
		return fmt.Errorf("%s: the answer contains more than %d bytes", name, limit)
	case isEmpty && (request.Method != http.MethodGet || response.StatusCode == http.StatusNoContent):
		return nil
	case isEmpty:
		return fmt.Errorf("%s: the answer is empty", name)
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", name, err)
	}
	return nil
}

// request returns the request. It returns an error for all that http.Client would refuse before the request is sent.
func (c HTTPCall) request(ctx context.Context) (*http.Request, error) {
	var content io.Reader = http.NoBody
	if c.Body != nil {
		text, err := json.Marshal(c.Body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, cmp.Or(c.Method, http.MethodGet), c.URL, content)
	if err != nil {
		return nil, err
	}
	if scheme := request.URL.Scheme; scheme != "http" && scheme != "https" || request.URL.Host == "" {
		return nil, errors.New("the address of the API is no http or https URL with a host")
	}
	request.Header, err = c.header()
	return request, err
}

// header returns all headers of the request.
func (c HTTPCall) header() (http.Header, error) {
	header := http.Header{}
	if c.Body != nil {
		header.Set("Content-Type", "application/json")
	}
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if c.Token != "" {
		header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.IdempotencyKey != "" {
		header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, found := header[name]; found {
			// http.Transport would repeat the request if it found the canonical name.
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
	for name, values := range header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("the header %s has a character that is not allowed, such as a newline", name)
			}
		}
	}
	return header, nil
}
