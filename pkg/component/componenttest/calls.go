package componenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/httpservice"
)

// injectorKey is the key of the Injector in the context of an operator.
type injectorKey struct{}

// WrapCalls returns a transport for the calls of an operator to external systems by HTTP. With the context that
// Scenario.Operator gets, the calls meet the faults of the seed; see Injector.WrapCalls. With any other context the
// result is next, so an operator may call WrapCalls in production, too.
func WrapCalls(ctx context.Context, next http.RoundTripper) http.RoundTripper {
	if i, ok := ctx.Value(injectorKey{}).(*Injector); ok {
		return i.WrapCalls(next)
	}
	return next
}

// WrapCalls returns a transport for calls to external systems by HTTP. The calls meet CloudDelay, CloudError,
// CloudLimit (429 with a Retry-After of a second), CloudLost, CloudTwice and Crash, by the seed, the method and the
// path. Only requests that can be repeated meet CloudTwice: all but POST and PATCH, unless they have the header
// Idempotency-Key. The server gets both requests, and the client the second answer. Requests with GET and HEAD are
// polls, at which the process does not crash. The result serves the process that runs now, and refuses all requests
// after its crash.
func (i *Injector) WrapCalls(next http.RoundTripper) http.RoundTripper {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &callConnection{injector: i, next: next, life: i.life}
}

// callConnection is the way of one process to external systems.
type callConnection struct {
	injector *Injector
	next     http.RoundTripper
	life     context.Context
}

// RoundTrip implements http.RoundTripper.
func (c *callConnection) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if c.life.Err() != nil {
		return nil, errStopped
	}
	fault, dice := c.injector.drawCall(r)
	if response, err := c.meet(r, body, fault, dice); response != nil || err != nil {
		return response, err
	}
	response, err := c.next.RoundTrip(withBody(r, body))
	if err == nil && c.life.Err() != nil {
		return nil, errors.Join(errStopped, response.Body.Close())
	}
	return response, err
}

// meet lets a fault happen. Without a response and an error, the request must be sent.
func (c *callConnection) meet(r *http.Request, body []byte, fault Fault, dice *rand.Rand) (*http.Response, error) {
	switch fault {
	case CloudDelay:
		return nil, pause(r.Context(), time.Duration(dice.Int64N(int64(longestDelay))))
	case CloudError:
		return nil, fmt.Errorf("%s %s: the connection was refused, by a test", r.Method, r.URL.Path)
	case CloudLimit:
		return answer(r, TooManyRequests), nil
	case CloudLost:
		return nil, errors.Join(&timeout{r.Method, r.URL.Path}, c.lose(r, body))
	case CloudTwice:
		return nil, c.lose(r, body)
	case Crash:
		// The process has ended, and knows nothing of the effect of its request.
		if dice.IntN(2) == 0 {
			_ = c.lose(r, body)
		}
		return nil, errStopped
	case CloudStale, CloudForget: // They concern a Cloud.
	case Delay, Conflict, TooManyRequests, InternalError, Unsent, Unanswered, Stale, Cut, Lag, Expired:
	}
	return nil, nil
}

// lose sends a request and drops its answer. The request is not cancelled with the process.
func (c *callConnection) lose(r *http.Request, body []byte) error {
	response, err := c.next.RoundTrip(withBody(r.WithContext(context.WithoutCancel(r.Context())), body))
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// readBody returns the body of a request, which may be sent several times.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}

// withBody returns a copy of a request with a body.
func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	if r.Body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = nil
	}
	return r
}

// drawCall decides what a call meets; the dice say how.
func (i *Injector) drawCall(r *http.Request) (Fault, *rand.Rand) {
	i.mu.Lock()
	defer i.mu.Unlock()
	request := "call " + r.Method + " " + r.URL.Path
	i.sent[request]++
	dice := i.faults.dice(i.step, request, i.sent[request])
	if isWriting(r) && i.crashesAt(request) {
		return Crash, dice
	}
	possible := i.faults.possibleInCalls(r)
	if i.left < 1 || len(possible) == 0 || dice.IntN(100) >= i.faults.Percent {
		return "", dice
	}
	fault := possible[dice.IntN(len(possible))]
	i.left--
	i.note(fault, request)
	return fault, dice
}

// possibleInCalls are the faults that a call can meet.
func (f Faults) possibleInCalls(r *http.Request) []Fault {
	kinds := []Fault{CloudDelay, CloudError, CloudLimit, CloudLost}
	if isWriting(r) {
		// The lost answer of a write hurts most.
		kinds = append(kinds, CloudLost, CloudLost)
	}
	if isRepeatable(r) {
		kinds = append(kinds, CloudTwice)
	}
	return slices.DeleteFunc(kinds, func(k Fault) bool { return !slices.Contains(f.Kinds, k) })
}

func isWriting(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

func isRepeatable(r *http.Request) bool {
	return r.Method != http.MethodPost && r.Method != http.MethodPatch || httpservice.HasIdempotencyKey(r.Header)
}
