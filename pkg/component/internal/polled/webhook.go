package polled

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

const (
	// SignatureHeader contains the signature of a call, as GitHub sends it: "sha256=", and the HMAC of the body in hex.
	SignatureHeader = "X-Hub-Signature-256"
	// TimestampHeader contains the time of a call, in seconds since 1970, if WebhookOptions.Window is set.
	TimestampHeader = "X-Hub-Timestamp"
	// DefaultMaxBody is the maximum size of the body of a call.
	DefaultMaxBody = 1 << 20
	// maxBodies is the maximum number of bodies in memory.
	maxBodies = 64
	// defaultRetry is the delay after which a caller may repeat a call.
	defaultRetry = time.Second
)

// WebhookOptions configure a webhook.
type WebhookOptions struct {
	// Route returns the component that a call is for. ok is false if there is none.
	Route func(*http.Request) (name types.NamespacedName, ok bool)
	// Secret returns the key of the signatures for a component. An empty key refuses the call.
	Secret func(context.Context, types.NamespacedName) ([]byte, error)
	// Accept handles a verified body, one at a time for each component. A temporary error is answered with status 503,
	// another one with status 400 and its text.
	Accept func(ctx context.Context, name types.NamespacedName, body []byte) error
	// DiscardBody verifies the body while it is read. Accept gets no body, and the body takes no memory.
	DiscardBody bool
	// MaxBytes is the maximum size of a body; DefaultMaxBody by default.
	MaxBytes int64
	// Window is the maximum age of a call; zero or less accepts calls of any age, without TimestampHeader.
	Window time.Duration
}

// NewWebhook returns a handler of signed calls. A call for an unknown component is answered like a call with a wrong
// signature, so that callers without a secret learn nothing. A body is read only if the call has the header of the
// signature, and kept only if the component has a secret.
func NewWebhook(o WebhookOptions) http.Handler {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBody
	}
	return &webhook{
		options: o, bodies: make(chan struct{}, maxBodies), refusals: newRefusals(),
	}
}

type webhook struct {
	options WebhookOptions
	// bodies contains an element for each body in memory.
	bodies   chan struct{}
	order    callOrder
	refusals *refusals
}

var (
	errSignature = errors.New("the signature is missing or wrong")
	errBusy      = &passerror.Retry{Cause: errors.New("too many calls at the same time"), After: time.Second}
	errEnded     = errors.New("the request ended early")
)

// secretError is an error of WebhookOptions.Secret.
type secretError struct{ error }

// Unwrap returns the error of WebhookOptions.Secret.
func (e secretError) Unwrap() error { return e.error }

// ServeHTTP handles a call.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send a POST request", http.StatusMethodNotAllowed)
		return
	}
	signature, err := signatureOf(r)
	if err != nil {
		h.refuse(w, r, types.NamespacedName{}, err)
		return
	}
	name, secret, refusal := h.key(r)
	if _, temporary := retryLater(refusal); temporary {
		h.refuse(w, r, name, refusal)
		return
	}
	if !h.options.DiscardBody {
		select {
		case h.bodies <- struct{}{}:
			defer func() { <-h.bodies }()
		default:
			h.refuse(w, r, name, errBusy)
			return
		}
	}
	body, err := h.verify(w, r, secret, signature)
	if errors.Is(err, errSignature) && refusal != nil {
		err = refusal
	}
	if err != nil {
		h.refuse(w, r, name, err)
		return
	}
	if err := h.accept(r.Context(), name, body); err != nil {
		h.reject(w, r, name, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// accept calls Accept after the earlier calls for the component. Otherwise a value that was stored last could be put
// before an earlier one.
func (h *webhook) accept(ctx context.Context, name types.NamespacedName, body []byte) error {
	leave, err := h.order.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	return eventsources.CallAuthor(ctx, func(ctx context.Context) error { return h.options.Accept(ctx, name, body) })
}

// signatureOf returns the signature in the header of a call.
func signatureOf(r *http.Request) ([]byte, error) {
	given, signed := strings.CutPrefix(r.Header.Get(SignatureHeader), "sha256=")
	signature, err := hex.DecodeString(given)
	if err != nil || !signed || len(signature) != sha256.Size {
		return nil, errSignature
	}
	return signature, nil
}

// key returns the component of a call, and the key of its signature. The key is empty if there is an error.
func (h *webhook) key(r *http.Request) (name types.NamespacedName, secret []byte, err error) {
	err = eventsources.CallAuthor(r.Context(), func(ctx context.Context) error {
		var ok bool
		if name, ok = h.options.Route(r); !ok {
			return errors.New("no component has this address")
		}
		found, err := h.options.Secret(ctx, name)
		switch {
		case err != nil:
			return secretError{err}
		case len(found) == 0:
			return errors.New("the secret is empty")
		}
		secret = found
		return nil
	})
	return name, secret, err
}

// verify reads the body of a call, and checks its signature. It returns the body, unless bodies are discarded. Without
// a secret the body is read all the same, but not kept, and errSignature is returned: otherwise the size of a body, or
// a body that is not sent, would tell an unsigned caller which components exist.
func (h *webhook) verify(w http.ResponseWriter, r *http.Request, secret, signature []byte) ([]byte, error) {
	if r.ContentLength > h.options.MaxBytes {
		return nil, &http.MaxBytesError{Limit: h.options.MaxBytes}
	}
	prefix, err := h.signedPrefix(r, time.Now())
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, prefix) // A Hash never returns an error.
	var kept bytes.Buffer
	var into io.Writer = mac
	if !h.options.DiscardBody && len(secret) > 0 {
		into = io.MultiWriter(mac, &kept)
	}
	if _, err := io.Copy(into, http.MaxBytesReader(w, r.Body, h.options.MaxBytes)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, err
		}
		return nil, errEnded
	}
	if len(secret) == 0 || !hmac.Equal(signature, mac.Sum(nil)) {
		return nil, errSignature
	}
	return kept.Bytes(), nil
}

// signedPrefix returns the text before the body that the signature of a call covers.
func (h *webhook) signedPrefix(r *http.Request, now time.Time) (string, error) {
	if h.options.Window <= 0 {
		return "", nil
	}
	stamp := r.Header.Get(TimestampHeader)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return "", fmt.Errorf("header %s: want seconds since 1970", TimestampHeader)
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > h.options.Window {
		return "", fmt.Errorf("the call is %s old", age.Round(time.Second))
	}
	return stamp + ".", nil
}

// refuse answers a call whose signature was not verified. The caller learns only whether to repeat the call. An error
// of Secret is logged. A missing or forbidden secret is answered with status 401 like a wrong signature: an unsigned
// caller must not learn that the component exists, and a repeated call would not help before a person acts.
func (h *webhook) refuse(w http.ResponseWriter, r *http.Request, name types.NamespacedName, err error) {
	after, temporary := retryLater(err)
	_, isSecret := errors.AsType[secretError](err)
	switch tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err); {
	case isTooLarge:
		http.Error(w, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
	case errors.Is(err, errEnded):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case temporary:
		h.refusals.log(r, name, "a webhook call could not be verified", err)
		tryAgain(w, after)
	default:
		if isSecret {
			h.refusals.log(r, name, "webhook calls are refused, because the key of their signatures cannot be read", err)
		}
		log.FromContext(r.Context()).V(1).Info("a webhook call was refused", "component", name, "cause", err.Error())
		http.Error(w, errSignature.Error(), http.StatusUnauthorized)
	}
}

// reject answers a call that Accept did not accept.
func (h *webhook) reject(w http.ResponseWriter, r *http.Request, name types.NamespacedName, err error) {
	after, temporary := retryLater(err)
	if !temporary {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.refusals.log(r, name, "a webhook call could not be accepted", err)
	tryAgain(w, after)
}

// tryAgain answers that the call may succeed later.
func tryAgain(w http.ResponseWriter, after time.Duration) {
	seconds := int64(max(after, defaultRetry).Round(time.Second) / time.Second)
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	http.Error(w, "the call cannot be handled at the moment; send it again later", http.StatusServiceUnavailable)
}

// retryLater reports whether a call that failed with err may succeed later, and the shortest delay until then, which is
// zero if err names none. The call may succeed later if an API server does not answer or is overloaded, if the
// program's own credentials are not accepted, after a time-out or a conflict of writes, and if err has a method
// RetryAfter.
func retryLater(err error) (after time.Duration, temporary bool) {
	if err == nil {
		return 0, false
	}
	var retry interface{ RetryAfter() time.Duration }
	if errors.As(err, &retry) {
		return retry.RetryAfter(), true
	}
	if after, ok := passerror.IsTransient(err); ok {
		return after, true
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return 0, isNetwork || apierrors.IsUnauthorized(err) || apierrors.IsConflict(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func sum(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(text) // It never returns an error.
	return mac.Sum(nil)
}

// Sign returns the value of SignatureHeader for a body.
func Sign(secret, body []byte) string { return "sha256=" + hex.EncodeToString(sum(secret, body)) }
