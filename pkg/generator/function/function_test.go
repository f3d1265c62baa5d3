package function_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// head is the beginning of a response.
const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

// serve starts a server that ends with the test.
func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

// answering returns a handler that always sends the same response.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func request() generator.Request {
	component := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{"name": "shop", "namespace": "apps"},
	}}
	return generator.Request{
		Namespace: "prod", Name: "store", Parameters: map[string]any{"replicas": int64(9007199254740993), "ratio": 0.5},
		Component: component,
		Revision:  7, Digest: "abc", Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Capabilities: generator.Capabilities{
			Version:     version.Info{GitVersion: "v1.36.3"},
			APIVersions: generator.NewAPIVersions("v1", "v1/Pod"),
		},
		References: generator.References{
			zones: {
				"zones.txt": []byte("a b"),
				"raw":       {0xff},
			}, db: {"password": []byte("hunter2")}, other: {"x": []byte("not requested")},
		},
	}
}

var (
	zones = generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: "apps", Name: "zones"}
	db    = generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "apps", Name: "db"}
	other = generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "apps", Name: "other"}
)

func generate(
	t *testing.T,
	service function.Service,
	o function.Options,
	req generator.Request,
) ([]client.Object, error) {
	t.Helper()
	g, err := function.New(service, o)
	if err != nil {
		return nil, err
	}
	return g.Generate(t.Context(), req)
}

// transient reports whether an error is temporary, and after which delay to retry.
func transient(err error) (after time.Duration, is bool) {
	var retry interface{ RetryAfter() time.Duration }
	if !errors.As(err, &retry) {
		return 0, false
	}
	return retry.RetryAfter(), true
}

func namesOf(objects []client.Object) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetObjectKind().GroupVersionKind().Kind+"/"+object.GetName())
	}
	return strings.Join(names, " ")
}

func TestTheRequestIsAResourceListOfTheSpecification(t *testing.T) {
	var got map[string]any
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != "" {
			t.Errorf("got %s %v", r.Method, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, head)
	})
	missing := generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "apps", Name: "optional"}
	if _, err := generate(t, function.Service{URL: url, Items: []generator.Reference{zones, db, missing}},
		function.Options{}, request()); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal([]byte(`
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: function.fairlead.io/v1alpha1
  kind: FunctionConfig
  metadata: {name: store, namespace: prod}
  spec:
    parameters: {replicas: 9007199254740993, ratio: 0.5}
    revision: 7
    digest: abc
    component: {apiVersion: example.com/v1, kind: Shop, namespace: apps, name: shop}
    kubernetes: {version: v1.36.3, apiVersions: [v1, v1/Pod]}
    now: "2026-01-02T03:04:05Z"
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: zones, namespace: apps, annotations: {config.kubernetes.io/local-config: "true"}}
  data: {zones.txt: a b}
  binaryData: {raw: /w==}
- apiVersion: v1
  kind: Secret
  metadata: {name: db, namespace: apps, annotations: {config.kubernetes.io/local-config: "true"}}
  data: {password: aHVudGVyMg==}
`), &want); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func TestTheAnswerMayBeYAMLOrJSON(t *testing.T) {
	for name, answer := range map[string]string{
		"YAML": "# by hand\n" + head +
			"items:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: \"1\"}}\n",
		"JSON": `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"n":"1"}}]}`,
		"lists": head + "items:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: " +
			"{name: a}}]}\n",
	} {
		objects, err := generate(
			t,
			function.Service{URL: serve(t, answering(200, answer))},
			function.Options{},
			request(),
		)
		if err != nil || namesOf(objects) != "ConfigMap/a" {
			t.Errorf("%s: got %s, %v", name, namesOf(objects), err)
		}
	}
}

func TestNumbersInTheAnswerStayExact(t *testing.T) {
	url := serve(
		t,
		answering(
			200,
			head+"items: [{apiVersion: v1, kind: A, metadata: {name: a}, large: 9007199254740993, ratio: 0.5}]",
		),
	)
	objects, err := generate(t, function.Service{URL: url}, function.Options{}, request())
	if err != nil {
		t.Fatal(err)
	}
	manifest, ok := objects[0].(*unstructured.Unstructured)
	if !ok || manifest.Object["large"] != int64(9007199254740993) || manifest.Object["ratio"] != 0.5 {
		t.Errorf("got %v", objects[0])
	}
}

func TestWhatWasSentIsNoDependentWhenItComesBack(t *testing.T) {
	url := serve(t, answering(200, head+`items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: zones, namespace: apps}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: zones, namespace: prod}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: local, annotations: {config.kubernetes.io/local-config: "true"}}}
`))
	objects, err := generate(
		t,
		function.Service{URL: url, Items: []generator.Reference{zones}},
		function.Options{},
		request(),
	)
	if err != nil || len(objects) != 1 || objects[0].GetNamespace() != "prod" {
		t.Errorf("got %v, %v", objects, err)
	}
}

func TestResultsAreToldOrFail(t *testing.T) {
	var told []generator.Result
	req := request()
	req.Report = func(r generator.Result) { told = append(told, r) }
	results := `results:
- {message: "hello"}
- {severity: warning, message: deprecated, resourceRef: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: prod}, field: {path: spec.x, currentValue: hunter2}}
`
	if _, err := generate(t, function.Service{URL: serve(t, answering(200, head+results))}, function.Options{},
		req); err != nil {
		t.Fatal(err)
	}
	want := []generator.Result{
		{Severity: generator.SeverityInfo, Message: "hello"},
		{
			Severity: generator.SeverityWarning,
			Message:  "deprecated",
			Object:   "Deployment.apps prod/web",
			Field:    "spec.x",
		},
	}
	if difference := cmp.Diff(want, told); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
	results += "- {severity: error, message: must be odd, field: {path: replicas}}\n- {severity: fatal, message: what}\n"
	url := serve(t, answering(200, head+results))
	_, err := generate(t, function.Service{URL: url}, function.Options{}, req)
	if _, again := transient(err); again || err == nil ||
		err.Error() != url+": replicas: must be odd\nwhat (a result with the unknown severity \"fatal\")" {
		t.Errorf("got %v", err)
	}
}

func TestWhatAServiceMayAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		handle    http.HandlerFunc
		want      string
		transient bool
		after     time.Duration
	}{
		"an internal error of the service": {
			handle: answering(500, "secret"),
			want:   "the service answers 500 Internal Server Error", transient: true,
		},
		"a gateway without a backend": {
			handle: answering(502, ""), want: "the service answers 502 Bad Gateway",
			transient: true,
		},
		"not now": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
		}, want: "the service answers 503 Service Unavailable", transient: true, after: 7 * time.Second},
		"a retry delay of a year": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(429)
		}, want: "the service answers 429 Too Many Requests", transient: true, after: 5 * time.Minute},
		"a path that does not exist": {
			handle: answering(404, "secret"),
			want:   "the service answers 404 Not Found: want 200; check the URL, and the program behind it",
		},
		"missing authorisation": {
			handle: answering(401, "secret"),
			want:   "the service answers 401 Unauthorized: renew the token, or the client certificate",
		},
		"not implemented": {
			handle: answering(501, ""),
			want:   "the service answers 501 Not Implemented: want 200; check the URL, and the program behind it",
		},
		"a request that is too large for the service": {
			handle: answering(413, ""),
			want:   "the service answers 413 Request Entity Too Large: send less, or raise the limit of the service",
		},
		"an empty success": {
			handle: answering(204, ""),
			want:   "the service answers 204 No Content: want 200; check the URL, and the program behind it",
		},
		"a redirect": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/?token=x", http.StatusTemporaryRedirect)
			},
			want: "the service answers 307 Temporary Redirect: redirects are not followed; use the URL that the " +
				"redirect leads to",
		},
		"binary data": {
			handle: answering(200, "\x00\x01: ["),
			want:   "the answer: the body is neither JSON nor YAML",
		},
		"an empty body": {
			handle: answering(200, ""),
			want:   "the answer: the body is not a ResourceList of config.kubernetes.io/v1",
		},
		"a web page": {
			handle: answering(200, "<html>secret</html>"),
			want:   "the answer: the body is not a ResourceList",
		},
		"another kind": {
			handle: answering(200, "{apiVersion: v1, kind: List}"),
			want:   "the answer: the body is not a ResourceList of config.kubernetes.io/v1",
		},
		"a field of another type": {
			handle: answering(200, head+"items: secret"),
			want:   "the answer: the body is not a ResourceList: ",
		},
		"an object without kind": {
			handle: answering(200, head+"items: [{apiVersion: v1, metadata: {name: a}}]"),
			want:   "the answer:1: items[0]: no kind: write one, such as ConfigMap",
		},
		"a null": {handle: answering(200, head+"items: [null]"), want: "the answer: items[0] is null"},
		"aliases that expand to a large document": {handle: answering(200, bomb()), want: "the answer: line "},
		"a response above the limit": {
			handle: answering(200, head+"# "+strings.Repeat("x", 2000)),
			want:   "the answer is larger than 1000 bytes",
		},
		"a response that ends early": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, head)
		}, want: "unexpected EOF", transient: true},
		"a connection that is closed without a response": {handle: func(http.ResponseWriter,
			*http.Request,
		) {
			panic(http.ErrAbortHandler)
		}, want: "EOF", transient: true},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, c.handle)
			_, err := generate(
				t,
				function.Service{URL: url + "/v1?key=secret"},
				function.Options{MaxResponseBytes: 1000},
				request(),
			)
			if err == nil || !strings.HasPrefix(err.Error(), url+"/v1: ") || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if after, is := transient(err); is != c.transient || after != c.after {
				t.Errorf("want transient %v after %s, got %v after %s", c.transient, c.after, is, after)
			}
		})
	}
}

// bomb returns a small document whose aliases expand to a large document.
func bomb() string {
	text := head + "a0: &a0 [xxxxxxxxxxxxxxxx]\n"
	for i := range 9 {
		text += fmt.Sprintf(
			"a%d: &a%d [%s]\n",
			i+1,
			i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","),
		)
	}
	return text
}

func TestAServiceThatIsDownIsTriedAgain(t *testing.T) {
	_, err := generate(t, function.Service{URL: "http://127.0.0.1:1"}, function.Options{}, request())
	if _, is := transient(err); !is || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestAServiceThatDoesNotAnswerInTimeIsTriedAgain(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	url := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	_, err := generate(t, function.Service{URL: url, Timeout: 50 * time.Millisecond}, function.Options{}, request())
	if _, is := transient(err); !is || err.Error() != url+": the service did not answer within 50ms" {
		t.Errorf("got %v", err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	url := serve(t, func(http.ResponseWriter, *http.Request) {
		cancel()
		<-release
	})
	g, err := function.New(function.Service{URL: url}, function.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Generate(ctx, request()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoMoreCallsThanAllowedAreUnderWay(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, head)
	})
	g, err := function.New(function.Service{URL: url}, function.Options{MaxCalls: 1})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	go func() {
		_, err := g.Generate(t.Context(), request())
		first <- err
	}()
	<-arrived
	_, err = g.Generate(t.Context(), request())
	if after, is := transient(err); !is || after != time.Second ||
		err.Error() != url+": the maximum of 1 concurrent call of functions is reached" {
		t.Errorf("got %v after %s", err, after)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestARequestThatIsTooLargeIsNotSent(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request that is too large was sent") })
	_, err := generate(t, function.Service{URL: url}, function.Options{MaxRequestBytes: 10}, request())
	if _, is := transient(err); is || err == nil || !strings.Contains(err.Error(), "more than the limit of 10") {
		t.Errorf("got %v", err)
	}
}

// secure starts a server with TLS, and returns its URL and its certificate.
func secure(t *testing.T, handle http.HandlerFunc, config *tls.Config) (url string, ca []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.TLS = config
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestATokenGoesToAServiceThatTheCAVouchesFor(t *testing.T) {
	url, ca := secure(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, head+"results: [{severity: error, message: the token is s3cret}]")
	}, nil)
	for name, c := range map[string]struct {
		service function.Service
		want    string
	}{
		"a function that returns the token in a result": {
			function.Service{URL: url, CA: ca, Token: "s3cret\n"},
			"the token is (redacted)",
		},
		"another token": {function.Service{URL: url, CA: ca, Token: "old"}, "the service answers 401 Unauthorized"},
		"another CA": {
			function.Service{URL: url, CA: otherCertificate, Token: "s3cret"},
			"the certificate of the service is not trusted",
		},
		"no CA": {function.Service{URL: url, Token: "s3cret"}, "the certificate of the service is not trusted"},
		"another host": {
			function.Service{URL: strings.Replace(url, "127.0.0.1", "localhost", 1), CA: ca},
			"the certificate of the service is not trusted",
		},
	} {
		_, err := generate(t, c.service, function.Options{}, request())
		if _, is := transient(err); is || err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: want %q, got %v", name, c.want, err)
		}
	}
}

func TestAClientCertificateIsPresented(t *testing.T) {
	url, ca := secure(t, func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) != 1 {
			t.Error("the client presented no certificate")
		}
		_, _ = io.WriteString(w, head)
	}, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12})
	if _, err := generate(t, function.Service{URL: url, CA: ca, Certificate: otherCertificate, Key: otherKey},
		function.Options{}, request()); err != nil {
		t.Error(err)
	}
	_, err := generate(t, function.Service{URL: url, CA: ca}, function.Options{}, request())
	if _, is := transient(err); is || err == nil || !strings.Contains(err.Error(), "the service refuses the connection") {
		t.Errorf("got %v", err)
	}
}

func TestHTTPSNeedsTLS(t *testing.T) {
	url := serve(t, answering(200, head))
	_, err := generate(
		t,
		function.Service{URL: strings.Replace(url, "http", "https", 1)},
		function.Options{},
		request(),
	)
	if _, is := transient(err); is || err == nil ||
		!strings.Contains(err.Error(), "the service does not use TLS; check scheme and port") {
		t.Errorf("got %v", err)
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "nowhere")
	// Requests to the loopback address never use a proxy. So this request goes to a host name that cannot be resolved.
	_, err := generate(t, function.Service{URL: "http://render.invalid"}, function.Options{}, request())
	if _, is := transient(err); !is || strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}

func TestAServiceIsCheckedBeforeItIsCalled(t *testing.T) {
	oversized := bytes.Repeat([]byte(" "), 1<<20+1)
	for want, service := range map[string]function.Service{
		"url: want one such as https://render.tools.svc/v1":                           {},
		"url: want one such as https://render.tools.svc/v1 ":                          {URL: "ftp://a"},
		"url: want one such as https://render.tools.svc/v1  ":                         {URL: "https://%zz:hunter2"},
		"url: the URL must not contain a user, a password or a fragment; use a token": {URL: "https://me:hunter2@a"},
		"url: a CA, a token or a client certificate needs https":                      {URL: "http://a", Token: "hunter2"},
		"url: a CA, a token or a client certificate needs https ": {
			URL: "http://a",
			CA:  otherCertificate,
		},
		"token: the token contains a character that an HTTP header cannot contain": {
			URL:   "https://a",
			Token: "hunter2\nX: y",
		},
		"ca: no certificate in PEM form found": {
			URL: "https://a",
			CA:  []byte("hunter2"),
		},
		"client certificate: tls: failed to find any PEM data in certificate input": {
			URL:         "https://a",
			Certificate: []byte("hunter2"), Key: []byte("hunter2"),
		},
		"client certificate: tls: failed to find any PEM data in key input": {
			URL:         "https://a",
			Certificate: otherCertificate,
		},
		"client certificate: the private key has more than 65536 bytes": {
			URL:         "https://a",
			Certificate: otherCertificate, Key: oversized,
		},
		"client certificate: the certificates have more than 1048576 bytes": {
			URL:         "https://a",
			Certificate: oversized, Key: otherKey,
		},
		"ca: the certificates have more than 1048576 bytes": {URL: "https://a", CA: oversized},
	} {
		_, err := function.New(service, function.Options{})
		if err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("%s: want %q, got %v", service.URL, want, err)
		}
	}
}

func TestTheVersionTellsWhereTheServiceIsAndNotHowItIsReached(t *testing.T) {
	versionOf := func(service function.Service) string {
		g, err := function.New(service, function.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return g.Version()
	}
	base := versionOf(function.Service{URL: "https://a"})
	if base == "" ||
		base != versionOf(function.Service{URL: "https://a", Token: "x", CA: otherCertificate, Timeout: time.Second}) {
		t.Error("the credentials change the version of the generator")
	}
	if base == versionOf(function.Service{URL: "https://a/v2"}) ||
		base == versionOf(function.Service{URL: "https://a", Items: []generator.Reference{db}}) {
		t.Error("another URL does not change the version")
	}
	if function.NewFor(nil, function.Options{}).Version() != "" {
		t.Error("a generator of NewFor has a version")
	}
}
