package httpservice

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// MaxRetryAfter is the maximum delay that a service can request with the header Retry-After.
const MaxRetryAfter = 5 * time.Minute

// Error is the error of a call. It names the service.
type Error struct {
	Cause error
	// NoEffect is set if the service did not process the request: the request was not sent, or was refused.
	NoEffect bool
	// Temporary is set if the call may succeed later. RetryAfter is the requested delay; zero if the caller chooses it.
	Temporary  bool
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Post sends a request body and returns the body of the answer, which contains at most limit bytes. All errors of the
// call are of type *Error.
func (e *Endpoint) Post(ctx context.Context, body []byte, limit int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Cause: err, NoEffect: true}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", e.accept)
	if e.token != "" {
		request.Header.Set("Authorization", "Bearer "+e.token)
	}
	client, done := e.client()
	defer done()
	response, err := client.Do(request)
	if err != nil {
		// Without a connection, which includes the TLS handshake, no byte of the request is sent.
		explained := e.explain(ctx, err)
		explained.NoEffect = explained.NoEffect || !connected.Load()
		return nil, explained
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, e.refusal(response)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		explained := e.explain(ctx, err)
		explained.NoEffect = false // An answer began.
		return nil, explained
	}
	if int64(len(answer)) > limit {
		return nil, &Error{Cause: fmt.Errorf("%s: the answer is larger than %d bytes", e.name, limit)}
	}
	return answer, nil
}

// explain converts an error of a call to an error with a remedy, and marks temporary errors.
func (e *Endpoint) explain(ctx context.Context, err error) *Error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return &Error{Cause: cause}
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
		return &Error{Cause: fmt.Errorf("%s: the service did not answer within %s", e.name, e.timeout), Temporary: true}
	case errors.As(err, &untrusted):
		return &Error{Cause: fmt.Errorf(
			"%s: the certificate of the service is not trusted: %w; check the CA, and the host in the URL", e.name, err)}
	case errors.As(err, &network) && network.Op == "remote error":
		// Package crypto/tls uses this name for an alert that the server sent.
		return &Error{
			Cause: fmt.Errorf(
				"%s: the service refuses the connection: %w; check the client certificate", e.name, err),
			NoEffect: refusesCertificate(network.Err),
		}
	case errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		return &Error{Cause: fmt.Errorf("%s: the service does not use TLS; check scheme and port", e.name), NoEffect: true}
	}
	return &Error{Cause: fmt.Errorf("%s: %w", e.name, err), Temporary: true}
}

// Numbers of TLS alerts about client certificates: RFC 8446, section 6.
const (
	alertBadCertificate      = 42
	alertCertificateUnknown  = 46
	alertUnknownCA           = 48
	alertCertificateRequired = 116
)

// refusesCertificate reports whether a TLS alert refuses the client certificate. With TLS 1.3 such an alert arrives
// after the request was sent, but the server sends it before it reads the request. The type of alerts is not exported.
func refusesCertificate(alert error) bool {
	number := reflect.ValueOf(alert)
	if number.Kind() != reflect.Uint8 {
		return false
	}
	n := number.Uint()
	return n >= alertBadCertificate && n <= alertCertificateUnknown || n == alertUnknownCA || n == alertCertificateRequired
}

// refusal returns the error for a response status. It does not quote the body, which may contain a secret.
func (e *Endpoint) refusal(response *http.Response) *Error {
	status := response.StatusCode
	err := fmt.Errorf("%s: the service answers %d %s", e.name, status, http.StatusText(status))
	after, _ := RetryAfter(response.Header, time.Now())
	switch {
	case status == http.StatusTooManyRequests:
		return &Error{Cause: err, NoEffect: true, Temporary: true, RetryAfter: after}
	case status == http.StatusRequestTimeout, status >= 500 && status != http.StatusNotImplemented:
		return &Error{Cause: err, Temporary: true, RetryAfter: after}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &Error{Cause: fmt.Errorf("%w: renew the token, or the client certificate", err), NoEffect: true}
	case status >= 300 && status < 400:
		return &Error{
			Cause:    fmt.Errorf("%w: redirects are not followed; use the URL that the redirect leads to", err),
			NoEffect: true,
		}
	case status == http.StatusRequestEntityTooLarge:
		return &Error{Cause: fmt.Errorf("%w: send less, or raise the limit of the service", err), NoEffect: true}
	}
	return &Error{
		Cause:    fmt.Errorf("%w: want 200; check the URL, and the program behind it", err),
		NoEffect: status >= 400 && status < 500,
	}
}

// RetryAfter returns the delay that an answer requests with the header Retry-After, at most MaxRetryAfter. It returns
// false if the header is missing or cannot be read. The header has a number of seconds or a date. A date is compared
// with the header Date of the same answer, or with now if the answer contains no date.
func RetryAfter(header http.Header, now time.Time) (delay time.Duration, found bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(MaxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(header.Get("Date")); err == nil {
		now = sent
	}
	return min(MaxRetryAfter, max(0, at.Sub(now))), true
}

// HasIdempotencyKey reports whether a request has a value for Idempotency-Key or X-Idempotency-Key. The names of its
// headers can be in any case.
func HasIdempotencyKey(header http.Header) bool {
	for name, values := range header {
		isKey := strings.EqualFold(name, "Idempotency-Key") || strings.EqualFold(name, "X-Idempotency-Key")
		if isKey && slices.ContainsFunc(values, func(value string) bool { return value != "" }) {
			return true
		}
	}
	return false
}
