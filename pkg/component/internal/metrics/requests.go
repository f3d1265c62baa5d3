package metrics

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type kindKey struct{}

// WithKind marks the requests with the returned context as requests for a dependent of a type.
func WithKind(ctx context.Context, kind schema.GroupKind) context.Context {
	return context.WithValue(ctx, kindKey{}, kind)
}

// requestKey identifies a series of requests.
type requestKey struct {
	kind schema.GroupKind
	verb string
	code int
}

// Transport returns a transport that counts the requests whose context is from WithKind.
func (m *Meter) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{meter: m, next: next}
}

type transport struct {
	meter *Meter
	next  http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport, for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	kind, ok := r.Context().Value(kindKey{}).(schema.GroupKind)
	if !ok {
		return response, err
	}
	key := requestKey{kind: kind, verb: verbOf(r)}
	if err == nil {
		key.code = response.StatusCode
	}
	t.meter.request(key).Inc()
	return response, err
}

func (m *Meter) request(key requestKey) prometheus.Counter {
	return counter(&m.requestCounts, key, func() prometheus.Counter {
		code := "<error>" // like the metrics of client-go
		if key.code != 0 {
			code = strconv.Itoa(key.code)
		}
		return m.requests.WithLabelValues(m.reconciler, key.verb, key.kind.Group, key.kind.Kind, code)
	})
}

// verbOf returns the verb of a request as the metrics of the API server name it. A server-side apply is "apply", not
// "patch".
func verbOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet:
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return "other"
}
