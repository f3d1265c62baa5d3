package component

import (
	"fmt"
	"net/http"
)

// dryRun lets no request through that writes: creates and updates become dry runs, and anything else that is no read is refused. It stands below
// all clients, so that nothing has to be believed of what is above.
type dryRun struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return d.next.RoundTrip(req)
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		asking := req.Clone(req.Context())
		query := asking.URL.Query()
		query.Set("dryRun", "All")
		asking.URL.RawQuery = query.Encode()
		return d.next.RoundTrip(asking)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	// The options of a DELETE are in its body, which would win over what is added to the address.
	return nil, fmt.Errorf("%s %s: a preview does not write", req.Method, req.URL.Path)
}

func dryRunOnly(next http.RoundTripper) http.RoundTripper { return dryRun{next} }
