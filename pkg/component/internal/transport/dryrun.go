package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// dryRunOnly prevents all writes. It turns creates and updates into dry runs, and refuses all other requests except
// reads. It also refuses a dry run if the server of the type is not known to support dry runs.
type dryRunOnly struct {
	next    http.RoundTripper
	support *dryRunSupport
}

// DryRunOnly returns a copy of config whose clients write nothing; see the package comment. The copy has no Timeout,
// because a timeout would end watches.
func DryRunOnly(config *rest.Config) (*rest.Config, error) {
	config, err := wrap(config, func(next http.RoundTripper, prefix string) http.RoundTripper {
		return dryRunOnly{next, newDryRunSupport(next, prefix)}
	})
	if err != nil {
		return nil, err
	}
	config.Timeout = 0
	return config, nil
}

// RoundTrip implements http.RoundTripper.
func (d dryRunOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return d.next.RoundTrip(req)
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		if why := d.support.lacking(req); why != "" {
			return refuse(req, why)
		}
		dry := req.Clone(req.Context())
		query := dry.URL.Query()
		query.Set("dryRun", "All")
		dry.URL.RawQuery = query.Encode()
		return d.next.RoundTrip(dry)
	}
	closeBody(req)
	// A DELETE cannot be made a dry run by the query parameter, because the options in its body take precedence over
	// the query.
	return nil, fmt.Errorf("%s %s: a preview does not write", req.Method, req.URL.Path)
}

// dryRunCheck refuses a dry run of an apply if the server of the type might execute it as a write. Such a dry run is
// sent for an update with the policy replace, if the managed fields of the object were removed (see restoredFields in
// package execute), and for a manifest that is probably invalid (see Executor.Refused). Its result is not important
// enough to risk a write.
type dryRunCheck struct {
	next http.RoundTripper
	// prefix is the part before /apis in the paths of requests.
	prefix string

	mu sync.Mutex
	// support caches which servers support dry runs, for the time supportLifetime after its first use; nil if nothing
	// is cached.
	support *dryRunSupport
}

// supportLifetime is the time for which the check caches the servers of types and their OpenAPI documents. The server
// of a type may change, and the documents take some MiB of memory.
const supportLifetime = time.Minute

// WithDryRunCheck returns a copy of config whose clients send no dry run of an apply if the server of the type might
// execute it as a write.
func WithDryRunCheck(config *rest.Config) (*rest.Config, error) {
	return wrap(config, func(next http.RoundTripper, prefix string) http.RoundTripper {
		return &dryRunCheck{next: next, prefix: prefix}
	})
}

// RoundTrip implements http.RoundTripper.
func (g *dryRunCheck) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPatch && req.URL.Query().Has("dryRun") {
		if why := g.currentSupport().lacking(req); why != "" {
			return refuse(req, why)
		}
	}
	return g.next.RoundTrip(req)
}

// currentSupport returns the cached dryRunSupport. The cache is emptied supportLifetime after its first use.
func (g *dryRunCheck) currentSupport() *dryRunSupport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.support == nil {
		g.support = newDryRunSupport(g.next, g.prefix)
		time.AfterFunc(supportLifetime, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.support = nil
		})
	}
	return g.support
}

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (g *dryRunCheck) WrappedRoundTripper() http.RoundTripper { return g.next }

// wrap returns a copy of config whose requests go through the transport that the function by returns. The argument
// prefix of by is the part before /apis in the paths of the requests.
func wrap(config *rest.Config, by func(next http.RoundTripper, prefix string) http.RoundTripper) (*rest.Config, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return by(next, base.Path) })
	return config, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// refuse returns a response with code 400 and a Status. The API server returns such a response if an admission webhook
// does not support dry runs, so callers handle both cases in the same way.
func refuse(req *http.Request, why string) (*http.Response, error) {
	closeBody(req)
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: why,
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}
