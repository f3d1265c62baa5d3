package component

import (
	"net/http"
	"strings"
	"testing"
)

// transport is an http.RoundTripper that is a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAPreviewAsksForDryRunsOnly(t *testing.T) {
	for method, want := range map[string]string{
		http.MethodGet: "watch=1", http.MethodHead: "watch=1", http.MethodPost: "dryRun=All&watch=1", http.MethodPut: "dryRun=All&watch=1",
		http.MethodPatch: "dryRun=All&watch=1", http.MethodDelete: "", http.MethodOptions: "", "DELETECOLLECTION": "",
	} {
		t.Run(method, func(t *testing.T) {
			sent := ""
			transport := dryRunOnly(transportFunc(func(r *http.Request) (*http.Response, error) {
				sent = r.URL.RawQuery
				return &http.Response{}, nil
			}))
			req, err := http.NewRequestWithContext(t.Context(), method, "https://cluster/api/v1/pods?watch=1", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := transport.RoundTrip(req); (err == nil) != (want != "") {
				t.Errorf("the answer is %v", err)
			}
			if sent != want {
				t.Errorf("sent with %q, want %q", sent, want)
			}
			if req.URL.RawQuery != "watch=1" {
				t.Errorf("the caller's request became %q", req.URL.RawQuery)
			}
		})
	}
}
