package operator

import (
	"context"
	"net/http"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// RecordSpec is the spec of the manifests of the kind Record.
type RecordSpec struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
	TTL   int    `json:"ttl,omitempty"`
}

// Record is a record of the DNS service.
type Record struct {
	RecordSpec `json:",inline"`
	ID         string `json:"id,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Status     string `json:"status,omitempty"`
}

// Records handles externals of the kind Record by the API of the DNS service at URL. The manifest names a Secret with
// the key token.
//
// +kubebuilder:object:generate=false
type Records struct {
	URL string
	// Transport sends the requests; http.DefaultTransport by default.
	Transport http.RoundTripper
}

// Observe implements external.Kind.
func (k Records) Observe(ctx context.Context, r external.Ref[RecordSpec]) (observed Record, err error) {
	err = k.call(ctx, r.References, pathOf(r.ID), external.HTTPCall{}, &observed)
	return observed, err
}

// Create implements external.Creator. The token is the idempotency key, which the service remembers for a time, and the
// tag, by which Find finds the record later.
func (k Records) Create(ctx context.Context, r external.Ref[RecordSpec]) (external.Created[Record], error) {
	var created Record
	err := k.call(ctx, r.References, "/records", external.HTTPCall{
		Method: http.MethodPost, Body: Record{RecordSpec: r.Spec, Tag: r.Token}, IdempotencyKey: r.Token, Creates: true,
	}, &created)
	return external.Created[Record]{ID: created.ID, Observed: created}, err
}

// Update implements external.Updater.
func (k Records) Update(ctx context.Context, r external.Ref[RecordSpec], _ Record) (updated Record, err error) {
	request := external.HTTPCall{Method: http.MethodPut, Body: r.Spec}
	err = k.call(ctx, r.References, pathOf(r.ID), request, &updated)
	return updated, err
}

// Delete implements external.Deleter. Its error may be ErrNotFound.
func (k Records) Delete(ctx context.Context, r external.Ref[RecordSpec]) error {
	return k.call(ctx, r.References, pathOf(r.ID), external.HTTPCall{Method: http.MethodDelete}, nil)
}

// Find implements external.Finder.
func (k Records) Find(ctx context.Context, r external.Ref[RecordSpec]) (id string, found bool, err error) {
	records, err := k.list(ctx, r.References, r.Token)
	for id := range records {
		return id, true, err
	}
	return "", false, err
}

// List implements external.Lister.
func (k Records) List(ctx context.Context, a external.Account) (map[string]Record, error) {
	return k.list(ctx, a.References, "")
}

// Token implements external.Tagged.
func (Records) Token(observed Record) string { return observed.Tag }

// ImmutableChanges implements external.Immutable.
func (Records) ImmutableChanges(applied, desired RecordSpec) []string {
	return external.Changed(applied, desired, "name", "type")
}

// Ready implements external.Readier.
func (Records) Ready(observed Record) (ready bool, message string) {
	return observed.Status == "active", "the name servers do not know the record yet"
}

// PollAfter implements external.Poller. A record becomes active within seconds.
func (k Records) PollAfter(observed Record) time.Duration {
	if ready, _ := k.Ready(observed); ready {
		return 0
	}
	return time.Second
}
