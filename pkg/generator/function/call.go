package function

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxRetryAfter is the maximum delay that a service can request.
const maxRetryAfter = 5 * time.Minute

// transientError marks an error as temporary. If after is zero, the reconciler selects the retry delay.
type transientError struct {
	err   error
	after time.Duration
}

func (e *transientError) Error() string             { return e.err.Error() }
func (e *transientError) Unwrap() error             { return e.err }
func (e *transientError) RetryAfter() time.Duration { return e.after }

// post sends a request body and returns the body of the response. Errors name the URL; temporary errors have a method
// RetryAfter.
func (e *endpoint) post(ctx context.Context, body []byte, limit int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, application/yaml")
	if e.token != "" {
		request.Header.Set("Authorization", "Bearer "+e.token)
	}
	client, done := e.client()
	defer done()
	response, err := client.Do(request)
	if err != nil {
		return nil, e.explain(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, e.refusal(response)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, e.explain(ctx, err)
	}
	if int64(len(answer)) > limit {
		return nil, fmt.Errorf("%s: the answer is larger than %d bytes", e.name, limit)
	}
	return answer, nil
}

// explain converts an error of a call to an error with a remedy, and marks temporary errors.
func (e *endpoint) explain(ctx context.Context, err error) error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return cause
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the outer error quotes the whole URL
	}
	var (
		untrusted *tls.CertificateVerificationError
		network   *net.OpError
		noTLS     tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &transientError{err: fmt.Errorf("%s: the service did not answer within %s", e.name, e.timeout)}
	case errors.As(err, &untrusted):
		return fmt.Errorf("%s: the certificate of the service is not trusted: %w; check the CA, and the host in the URL",
			e.name, err)
	case errors.As(err, &network) && network.Op == "remote error":
		// Package crypto/tls uses this name for an alert that the server sent.
		return fmt.Errorf("%s: the service refuses the connection: %w; check the client certificate", e.name, err)
	case errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s: the service does not use TLS; check scheme and port", e.name)
	}
	return &transientError{err: fmt.Errorf("%s: %w", e.name, err)}
}

// refusal returns the error for a response status. It does not quote the body, which may contain a secret.
func (e *endpoint) refusal(response *http.Response) error {
	status := response.StatusCode
	err := fmt.Errorf("%s: the service answers %d %s", e.name, status, http.StatusText(status))
	switch {
	case status == http.StatusTooManyRequests,
		status == http.StatusRequestTimeout,
		status >= 500 && status != http.StatusNotImplemented:
		return &transientError{err: err, after: retryAfter(response.Header.Get("Retry-After"))}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("%w: renew the token, or the client certificate", err)
	case status >= 300 && status < 400:
		return fmt.Errorf("%w: redirects are not followed; use the URL that the redirect leads to", err)
	case status == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: send less, or raise the limit of the service", err)
	}
	return fmt.Errorf("%w: want 200; check the URL, and the function", err)
}

// retryAfter returns the delay in the Retry-After header in seconds.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds < 0 {
		return 0
	}
	return min(maxRetryAfter, time.Duration(seconds)*time.Second)
}
