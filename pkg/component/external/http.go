package external

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/httpservice"
)

// maxErrorBody is the maximum size of the part of a body that an error quotes, in bytes. It is larger than maxText, so
// that credentials are removed before the text is shortened.
const maxErrorBody = 2 << 10

// HTTPError returns the error that the status of an answer means for a method of a Kind, and nil for a status below
// 300. The request of the answer was made by Observe, Update, Delete, Find or List. HTTPCreateError is for the request
// that creates an external.
//
//	404                   ErrNotFound
//	429                   RefusedFor, with the time in the header Retry-After; without it, the back-off holds
//	503 with Retry-After  RefusedFor with this time
//	408                   an error that says nothing about the effect
//	other 300 to 499      Refused
//	other 500 and above   an error that says nothing about the effect
//
// Retry-After is a number of seconds or a date. More than five minutes count as five minutes. The message contains the
// method, the path without the query, the status, and at most 2 KiB of the body. HTTPError reads the body and does not
// close it. A Driver removes the values of the referenced Secrets from the message, and shortens it.
//
// If the status of an API means something else, such as a 410 of an external that does not exist any more, convert
// it before the call.
func HTTPError(response *http.Response) error {
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%w: %w", ErrNotFound, httpFailure(response))
	}
	return httpError(response)
}

// HTTPCreateError returns the error that the status of an answer means for Create, as HTTPError does, except for these:
//
//	404       Refused: the parent of the external, such as a zone, does not exist
//	409       ErrExists
//	409, 422  an error that says nothing about the effect, if the request has the header Idempotency-Key
//
// A 409 to an idempotency key means that an earlier request with this key is under way, and a 422 that the key was sent
// with another body. In both cases the external may exist.
//
// Use it only for the request that creates the external: it marks errors as refusals, and a refusal of a later request
// in the same Create does not mean that nothing was created. To remove the mark, wrap the error of a later request by
// fmt.Errorf with %v.
func HTTPCreateError(response *http.Response) error {
	switch response.StatusCode {
	case http.StatusNotFound:
		return Refused(httpFailure(response))
	case http.StatusConflict:
		if !hasIdempotencyKey(response) {
			return fmt.Errorf("%w: %w", ErrExists, httpFailure(response))
		}
		return httpFailure(response)
	case http.StatusUnprocessableEntity:
		if hasIdempotencyKey(response) {
			return httpFailure(response)
		}
	}
	return httpError(response)
}

// httpError returns the error for a status that means the same for all methods.
func httpError(response *http.Response) error {
	status := response.StatusCode
	if status < http.StatusMultipleChoices {
		return nil
	}
	after, limited := httpservice.RetryAfter(response.Header, time.Now())
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && limited:
		return RefusedFor(httpFailure(response), after)
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return httpFailure(response)
	}
	return Refused(httpFailure(response))
}

// httpFailure describes an answer.
func httpFailure(response *http.Response) error {
	text := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if r := response.Request; r != nil && r.URL != nil {
		text = fmt.Sprintf("%s %s: %s", cmp.Or(r.Method, http.MethodGet), cmp.Or(r.URL.Path, "/"), text)
	}
	if body := errorBody(response); body != "" {
		text += ": " + body
	}
	return fmt.Errorf("%s", text)
}

// errorBody returns the beginning of a body on one line.
func errorBody(response *http.Response) string {
	if response.Body == nil {
		return ""
	}
	// An error of the read is ignored: the part of the body that arrived explains the status.
	start, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody+1))
	text := strings.TrimSpace(strings.ToValidUTF8(string(start), "\uFFFD"))
	return shortened(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(text), maxErrorBody)
}

func hasIdempotencyKey(response *http.Response) bool {
	return response.Request != nil && httpservice.HasIdempotencyKey(response.Request.Header)
}
