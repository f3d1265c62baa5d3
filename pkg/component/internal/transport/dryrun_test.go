package transport

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// transportFunc is a function that implements http.RoundTripper.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDryRunOnlyTurnsWritesIntoDryRuns(t *testing.T) {
	for method, want := range map[string]string{
		http.MethodGet: "watch=1", http.MethodHead: "watch=1", http.MethodPost: "dryRun=All&watch=1",
		http.MethodPut: "dryRun=All&watch=1", http.MethodPatch: "dryRun=All&watch=1",
		http.MethodDelete: "", http.MethodOptions: "", "DELETECOLLECTION": "",
	} {
		t.Run(method, func(t *testing.T) {
			sent := ""
			transport := dryRunOnly{next: transportFunc(func(r *http.Request) (*http.Response, error) {
				sent = r.URL.RawQuery
				return &http.Response{}, nil
			}), support: newDryRunSupport(nil, "")}
			const pods = "https://cluster/api/v1/pods?watch=1"
			req, err := http.NewRequestWithContext(t.Context(), method, pods, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := transport.RoundTrip(req); (err == nil) != (want != "") {
				t.Errorf("the round trip returned the error %v", err)
			}
			if sent != want {
				t.Errorf("the request was sent with the query %q, want %q", sent, want)
			}
			if req.URL.RawQuery != "watch=1" {
				t.Errorf("the transport changed the query of the caller's request to %q", req.URL.RawQuery)
			}
		})
	}
}

// aggregating returns a dryRunOnly transport for a fake API server, and the requests that the server received. answers
// has the bodies of the responses to GET requests, by path.
func aggregating(t *testing.T, answers map[string]string) (dryRunOnly, *[]string) {
	t.Helper()
	var sent []string
	next := transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Method+" "+r.URL.Path)
		if r.Header.Get("Authorization") != "Bearer mine" {
			t.Errorf("%s %s is sent without credentials", r.Method, r.URL.Path)
		}
		code, body := http.StatusOK, answers[r.URL.Path]
		switch {
		case r.Method != http.MethodGet:
			body = "{}"
		case body == "forbidden":
			code = http.StatusForbidden
		case body == "":
			code = http.StatusNotFound
		}
		return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	return dryRunOnly{next: next, support: newDryRunSupport(next, "/clusters/one/")}, &sent
}

func TestDryRunOnlyRefusesWhatMayNotBeADryRun(t *testing.T) {
	const (
		prefix   = "/clusters/one"
		services = prefix + "/apis/apiregistration.k8s.io/v1/apiservices/"
		document = prefix + "/openapi/v3/apis/example.com/v1"
		things   = prefix + "/apis/example.com/v1/namespaces/here/things"
		remote   = `{"spec":{"service":{"name":"theirs"}}}`
		knows    = `{"paths":{
			"/apis/example.com/v1/namespaces/{namespace}/things":{
				"parameters":[{"name":"namespace","in":"path"}],"post":{"parameters":[{"name":"dryRun","in":"query"}]}},
			"/apis/example.com/v1/namespaces/{namespace}/things/{name}":{
				"patch":{"parameters":[{"$ref":"#/components/parameters/dry"}]},"put":{}}},
			"components":{"parameters":{"dry":{"name":"dryRun","in":"query"}}}}`
	)
	for _, c := range []struct {
		name, method, path string
		answers            map[string]string
		// why is a part of the message of the refusal, empty if the dry run is sent.
		why string
	}{
		{"a dry run for the core group is sent", http.MethodPost, prefix + "/api/v1/namespaces/here/configmaps", nil, ""},
		{
			"a dry run for a group that the API server itself serves is sent", http.MethodPost, things,
			map[string]string{services + "v1.example.com": `{"spec":{"service":null}}`},
			"",
		},
		{"a dry run for a group without an APIService is sent", http.MethodPost, things, nil, ""},
		{
			"a dry run is sent if the document of the API has the parameter dryRun", http.MethodPost, things,
			map[string]string{services + "v1.example.com": remote, document: knows},
			"",
		},
		{
			"a dry run is sent if dryRun is a shared parameter of the document", http.MethodPatch, things + "/one",
			map[string]string{services + "v1.example.com": remote, document: knows},
			"",
		},
		{
			"a dry run is refused if only other methods have the parameter dryRun", http.MethodPut, things + "/one",
			map[string]string{services + "v1.example.com": remote, document: knows},
			"APIService v1.example.com does not support dry run according to its OpenAPI document",
		},
		{
			"a dry run is refused if the document lacks the type", http.MethodPost, prefix + "/apis/example.com/v1/others",
			map[string]string{services + "v1.example.com": remote, document: knows},
			"does not support dry run",
		},
		{
			"a dry run is refused if the API has no document", http.MethodPost, things,
			map[string]string{services + "v1.example.com": remote},
			"its OpenAPI document cannot be read: not found",
		},
		{
			"a dry run is sent if only the APIService cannot be read", http.MethodPost, things,
			map[string]string{services + "v1.example.com": "forbidden", document: knows},
			"",
		},
		{
			"a dry run is refused if neither the APIService nor the document can be read", http.MethodPost, things,
			map[string]string{services + "v1.example.com": "forbidden", document: "forbidden"},
			"its OpenAPI document cannot be read: 403",
		},
		{
			"a dry run is refused if the document cannot be parsed", http.MethodPost, things,
			map[string]string{services + "v1.example.com": remote, document: "["},
			"does not support dry run",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport, sent := aggregating(t, c.answers)
			for range 2 {
				req, err := http.NewRequestWithContext(t.Context(), c.method, "https://cluster"+c.path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer mine")
				answer, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				refused := answer.StatusCode == http.StatusBadRequest
				if refused != (c.why != "") || !strings.Contains(string(body), c.why) {
					t.Errorf("the response has the code %d and the body %s", answer.StatusCode, body)
				}
			}
			reads := slices.DeleteFunc(slices.Clone(*sent), func(s string) bool { return !strings.HasPrefix(s, http.MethodGet) })
			if len(slices.Compact(slices.Sorted(slices.Values(reads)))) != len(reads) {
				t.Errorf("the transport read the same document more than once: %v", reads)
			}
			if writes := len(*sent) - len(reads); (writes == 2) != (c.why == "") {
				t.Errorf("the transport sent the wrong requests %v", *sent)
			}
		})
	}
}

func TestDryRunCheckRefusesOnlyDryRunsOfAPIsThatDoNotSupportThem(t *testing.T) {
	const things = "/clusters/one/apis/example.com/v1/namespaces/here/things/one"
	const service = "/clusters/one/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"
	for _, c := range []struct {
		name, method, query, service string
		code                         int
		want                         []string
	}{
		{
			"a dry run for a group that the API server itself serves is sent", http.MethodPatch, "dryRun=All",
			`{"spec":{}}`, http.StatusOK,
			[]string{"GET " + service, "PATCH " + things},
		},
		{
			"a dry run for an API without the parameter dryRun is refused", http.MethodPatch, "dryRun=All",
			`{"spec":{"service":{}}}`, http.StatusBadRequest,
			[]string{"GET " + service, "GET /clusters/one/openapi/v3/apis/example.com/v1"},
		},
		{"a write is sent without a check", http.MethodPatch, "force=true", "", http.StatusOK, []string{"PATCH " + things}},
		{"a read is sent without a check", http.MethodGet, "dryRun=All", "", http.StatusNotFound, []string{"GET " + things}},
	} {
		t.Run(c.name, func(t *testing.T) {
			preview, sent := aggregating(t, map[string]string{service: c.service})
			url := "https://cluster" + things + "?" + c.query
			req, err := http.NewRequestWithContext(t.Context(), c.method, url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer mine")
			answer, err := (&dryRunCheck{next: preview.next, prefix: "/clusters/one"}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.code || !slices.Equal(*sent, c.want) {
				t.Errorf("the response has the code %d after the requests %v", answer.StatusCode, *sent)
			}
		})
	}
}

func TestDryRunCheckCachesTheServerOfAType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const service = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"
		preview, sent := aggregating(t, map[string]string{service: `{"spec":{}}`})
		h := &dryRunCheck{next: preview.next}
		ask := func(ctx context.Context) {
			const thing = "https://cluster/apis/example.com/v1/things/one?dryRun=All"
			req, err := http.NewRequestWithContext(ctx, http.MethodPatch, thing, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer mine")
			answer, err := h.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := answer.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
		asked := func() int {
			return len(slices.DeleteFunc(slices.Clone(*sent), func(request string) bool { return request != "GET "+service }))
		}
		canceled, leave := context.WithCancel(t.Context())
		leave()
		ask(canceled)
		ask(t.Context())
		ask(t.Context())
		if asked() != 2 {
			t.Errorf("%d reads of the APIService, the first of them cancelled: %v", asked(), *sent)
		}
		time.Sleep(supportLifetime)
		synctest.Wait()
		ask(t.Context())
		if asked() != 3 {
			t.Errorf("the APIService was read %d times after supportLifetime, want 3; the requests are %v", asked(), *sent)
		}
	})
}

func TestDryRunConfigs(t *testing.T) {
	given := &rest.Config{Host: "https://cluster/clusters/one", Timeout: time.Second}
	for _, c := range []struct {
		name    string
		make    func(*rest.Config) (*rest.Config, error)
		timeout time.Duration
		method  string
		sent    bool
	}{
		{"a transport for dry runs only refuses a DELETE", DryRunOnly, 0, http.MethodDelete, false},
		{"a transport for dry runs only sends a read", DryRunOnly, 0, http.MethodGet, true},
		{"the dry-run check sends a DELETE", WithDryRunCheck, time.Second, http.MethodDelete, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := c.make(given)
			if err != nil {
				t.Fatal(err)
			}
			if config.Timeout != c.timeout || given.WrapTransport != nil {
				t.Errorf("the returned config has the timeout %s; the given config was changed: %t", config.Timeout,
					given.WrapTransport != nil)
			}
			sent := false
			transport := config.WrapTransport(transportFunc(func(*http.Request) (*http.Response, error) {
				sent = true
				return &http.Response{}, nil
			}))
			req, err := http.NewRequestWithContext(t.Context(), c.method, given.Host+"/api/v1/pods", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := transport.RoundTrip(req); sent != c.sent || (err == nil) != c.sent {
				t.Errorf("the request was sent: %t; the error is %v", sent, err)
			}
		})
	}
}
