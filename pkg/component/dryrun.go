package component

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

// dryRun lets no request through that writes: creates and updates become dry runs, and anything else that is no read is refused. It stands below
// all clients, so that nothing has to be believed of what is above. Nor is an API believed that another server serves: what does not say that it
// supports dry runs is not asked for one.
type dryRun struct {
	next    http.RoundTripper
	support *dryRunSupport
}

// RoundTrip implements http.RoundTripper.
func (d dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return d.next.RoundTrip(req)
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		if why := d.support.lacking(req); why != "" {
			return refuse(req, why)
		}
		asking := req.Clone(req.Context())
		query := asking.URL.Query()
		query.Set("dryRun", "All")
		asking.URL.RawQuery = query.Encode()
		return d.next.RoundTrip(asking)
	}
	closeBody(req)
	// The options of a DELETE are in its body, which would win over what is added to the address.
	return nil, fmt.Errorf("%s %s: a preview does not write", req.Method, req.URL.Path)
}

// honest lets no dry run of an apply through to an API that might take it for a write: what an update under the policy replace would like to know
// (see execute.claim) is not worth that. Only where somebody stripped the managed fields is there anything to ask.
type honest struct {
	next http.RoundTripper
	// prefix is what comes before /apis in the paths of requests.
	prefix string

	mu sync.Mutex
	// support is what was found out in the last minute, nil where that is nothing.
	support *dryRunSupport
}

// honestFor is how long it counts who serves a type. That may change, and the documents that tell take some MiB.
const honestFor = time.Minute

// RoundTrip implements http.RoundTripper.
func (h *honest) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPatch && req.URL.Query().Has("dryRun") {
		if why := h.known().lacking(req); why != "" {
			return refuse(req, why)
		}
	}
	return h.next.RoundTrip(req)
}

// known returns what is known of who serves what, and forgets it after a while.
func (h *honest) known() *dryRunSupport {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.support == nil {
		h.support = newDryRunSupport(h.next, h.prefix)
		time.AfterFunc(honestFor, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.support = nil
		})
	}
	return h.support
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (h *honest) WrappedRoundTripper() http.RoundTripper { return h.next }

// withHonesty returns a configuration whose clients make no dry run of an apply where that might write.
func withHonesty(config *rest.Config) (*rest.Config, error) {
	return wrapped(config, func(next http.RoundTripper, prefix string) http.RoundTripper {
		return &honest{next: next, prefix: prefix}
	})
}

// wrapped returns a configuration whose requests go through a transport, which is told what comes before /apis in their paths.
func wrapped(config *rest.Config, by func(next http.RoundTripper, prefix string) http.RoundTripper) (*rest.Config, error) {
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

// refuse answers a request as the API server does that refuses a dry run, because something would not make it one.
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
		StatusCode: http.StatusBadRequest, Status: "400 Bad Request", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// withoutWrites returns a configuration whose clients write nothing.
func withoutWrites(config *rest.Config) (*rest.Config, error) {
	config, err := wrapped(config, func(next http.RoundTripper, prefix string) http.RoundTripper {
		return dryRun{next, newDryRunSupport(next, prefix)}
	})
	if err != nil {
		return nil, err
	}
	// Watches are requests, too.
	config.Timeout = 0
	return config, nil
}
