package eventsource

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
	"github.com/fairlead-io/fairlead/pkg/component/internal/polled"
)

// InboundOptions configure an event source that receives values.
type InboundOptions[T client.Object, V any] struct {
	// Fetch returns the values that were sent before the start, because values are in memory only. Passes wait for it.
	// Values that arrive in the meantime are newer. Nil means that components have no values after a start. If no other
	// system keeps the values, store each value before Put, for example with Reconciler.UpdateStatus.
	Fetch func(ctx context.Context) (map[client.ObjectKey]V, error)
	// Expire is the time after which a value is dropped. Zero, the default, means never.
	Expire time.Duration
}

// Mailbox is an event source that receives values, from a queue, a stream or a webhook.
type Mailbox[T client.Object, V any] struct {
	name    string
	mailbox *polled.Mailbox
}

// Inbound returns an event source that receives values. Without InboundOptions.Fetch, passes do not wait for a value.
func Inbound[T client.Object, V any](name string, o InboundOptions[T, V]) *Mailbox[T, V] {
	options := polled.MailboxOptions{Expire: o.Expire}
	if o.Fetch != nil {
		options.Fetch = fetchAll(o.Fetch)
	}
	return &Mailbox[T, V]{name: name, mailbox: polled.NewMailbox(options)}
}

// Attach implements Source.
func (m *Mailbox[T, V]) Attach(to eventsources.Reconciler[T]) (func(), error) {
	return to.Add(m.name, m.mailbox)
}

// Put stores a value for a component, and wakes the component if the value differs from the last one. Put may be called
// from any goroutine, also before the start. The error says that the value cannot be written as JSON.
//
// A value may arrive before the first pass over its component, also if the component does not exist yet. Such a value
// is dropped after ten minutes, or after Expire if this is shorter. The mailbox keeps at most 10,000 such values, and
// at most 64 MiB of them, measured as JSON. Above these limits, the oldest values of the namespace with the most
// values, or the most bytes, are dropped. Dropped values are counted in the metric fairlead_source_results_total with
// the result "dropped", and too many values are logged. The limits do not apply to the values of InboundOptions.Fetch.
func (m *Mailbox[T, V]) Put(name client.ObjectKey, value V) error { return m.mailbox.Put(name, value) }

// Drop removes the value of a component, and wakes the component if it had one.
func (m *Mailbox[T, V]) Drop(name client.ObjectKey) { m.mailbox.Drop(name) }

// Get returns the value of a component, and its age. known is false if there is no value for the component. The value
// is shared, so the caller must not change it.
func (m *Mailbox[T, V]) Get(component T) (value V, age time.Duration, known bool) {
	return valueOf[V](m.mailbox.Get(client.ObjectKeyFromObject(component)))
}

// WebhookOptions configure a webhook.
type WebhookOptions struct {
	// Route returns the component that a call is for. ok is false if there is none; the call is then answered like a call
	// with a wrong signature. Required.
	Route func(*http.Request) (name client.ObjectKey, ok bool)
	// Secret returns the key of the signatures for a component. An empty key refuses the call. An error is logged with the
	// component, at most once a minute for each cause. A temporary error (see WebhookHandler) is answered with status 503,
	// another error like a wrong signature. Calls are not signed yet when Secret is called, so it must be cheap, and
	// return an empty key for components that do not exist. Required.
	Secret func(ctx context.Context, name client.ObjectKey) ([]byte, error)
	// Accept handles a body whose signature is right. A handler calls it for one call of a component at a time, so that
	// the value that is stored last is also put last. Three further calls wait; more are answered with status 503. A
	// temporary error (see WebhookHandler) is answered with status 503, another error with status 400 and its text,
	// success with status 202. Required for WebhookHandler. Mailbox.Handler calls it, if it is set, before Put.
	Accept func(ctx context.Context, name client.ObjectKey, body []byte) error
	// DiscardBody verifies a body while it is read, and calls Accept without it. Otherwise, at most 64 bodies are in
	// memory at the same time, and further calls are answered with status 503.
	DiscardBody bool
	// MaxBytes is the maximum size of a body; 1 MiB by default.
	MaxBytes int64
	// Window is the maximum age of a call. The caller then sends the time in the header X-Hub-Timestamp, in seconds
	// since 1970, and the signature covers this time, a dot, and the body. Zero, the default, accepts calls of any age,
	// so that a copied call can be repeated.
	Window time.Duration
}

// WebhookHandler returns a handler of signed calls. Accept calls Trigger or Refresh for a call without a value; for a
// call with a value, it stores the value and calls Put. The call is a POST request whose header X-Hub-Signature-256 has
// the HMAC of the body with SHA-256, in hex, after "sha256=", as GitHub sends it. Other calls are refused. The handler
// sends no request by itself.
//
// The signature covers the body, and with Window the time, but not the path. So a copied call can be sent again to
// another component with the same key. If a call has a value, use a key for each component, or let the body name the
// component and compare the names in Accept.
//
// A call that could not be handled because of a temporary error is answered with status 503 and the header Retry-After.
// Temporary errors are those that component.RetryAfter returns, time-outs, network errors, and the errors of an API
// server that is overloaded or unreachable, or that reports a conflict. A refused caller learns neither the cause, nor
// if the component exists. The server of the handler must limit the time of a call (http.Server.ReadTimeout) and the
// number of connections.
func WebhookHandler(o WebhookOptions) http.Handler {
	return polled.NewWebhook(polled.WebhookOptions{
		Route: o.Route, Secret: o.Secret, MaxBytes: o.MaxBytes, Window: o.Window, Accept: o.Accept,
		DiscardBody: o.DiscardBody,
	})
}

// Handler returns a handler that puts the value of a call into the mailbox; see WebhookHandler. decode returns the
// value in a body whose signature is right. An error is answered with status 400 and its text. WebhookOptions.Accept,
// if it is set, is called after decode and before Put, for example to store the body; if it fails, the value is not
// put. WebhookOptions.DiscardBody is ignored.
func (m *Mailbox[T, V]) Handler(o WebhookOptions, decode func(body []byte) (V, error)) http.Handler {
	accept := o.Accept
	o.DiscardBody = false
	o.Accept = func(ctx context.Context, name types.NamespacedName, body []byte) error {
		value, err := decode(body)
		if err != nil {
			return err
		}
		if accept != nil {
			if err := accept(ctx, name, body); err != nil {
				return err
			}
		}
		return m.Put(name, value)
	}
	return WebhookHandler(o)
}

// SignatureHeader is the header with the signature of a call.
const SignatureHeader = polled.SignatureHeader

// Sign returns the value of SignatureHeader for a body, for senders and for tests. With WebhookOptions.Window, body is
// the time, a dot, and the body.
func Sign(secret, body []byte) string { return polled.Sign(secret, body) }
