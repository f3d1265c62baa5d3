package fetch

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/pkg/addresses"
)

// errRedirect is returned for a redirect that is not followed.
var errRedirect = errors.New("redirect refused")

// errUnlimited is returned if Options.Addresses is set for a transport whose addresses cannot be limited.
var errUnlimited = errors.New("the addresses of the transport cannot be limited: Options.Addresses needs a Transport " +
	"that is nil or a *http.Transport")

// passing is an error that is temporary: a later attempt may succeed.
type passing struct {
	cause error
	after time.Duration
}

func (e *passing) Error() string             { return e.cause.Error() }
func (e *passing) Unwrap() error             { return e.cause }
func (e *passing) RetryAfter() time.Duration { return e.after }

// unreached converts an error of net/http about a request for a URL. It omits the URL, because its query may contain a
// credential. If addresses are limited, it omits what the server sent, too.
func (h *HTTP) unreached(err error, asked string) error {
	redirected := false
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err, redirected = wrapped.Err, wrapped.URL != asked
	}
	forbidden, isForbidden := errors.AsType[*addresses.Error](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if h.options.Addresses != nil {
		err = withoutAnswer(err, redirected)
	}
	switch {
	case isForbidden && redirected:
		// The server chose the host, and may be one that only the operator can reach. So the error does not name the host.
		return fmt.Errorf("%w: %w", errRedirect, &addresses.Error{Rule: forbidden.Rule})
	case isForbidden:
		return forbidden
	case errors.Is(err, errRedirect), errors.Is(err, errUnlimited):
		return err
	case untrusted:
		return fmt.Errorf("the server is not trusted: %w", err)
	}
	return &passing{cause: err}
}

// refused returns the error for a response whose status code is not 200.
func refused(response *http.Response) error {
	err := errors.New("the server answered " + statusText(response.StatusCode))
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= http.StatusInternalServerError:
		return &passing{cause: err, after: retryAfter(response)}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf(
			"%w; the archive must be public: it is requested without credentials",
			err,
		)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("%w; check the URL", err)
	}
	return err
}

// statusText returns a status code with its name in the standard. The text in a response is that of its server.
func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprint(code, " ", http.StatusText(code)))
}

// retryAfter returns the delay in the Retry-After header in seconds, up to one hour.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}
