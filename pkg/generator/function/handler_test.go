package function_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// handled serves a generator over HTTP, and returns the URL.
func handled(t *testing.T, g generator.GeneratorFunc, o function.HandlerOptions) string {
	t.Helper()
	server := httptest.NewServer(function.Handler(g, o))
	t.Cleanup(server.Close)
	return server.URL
}

// post sends a body, and returns the status and the body of the response.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	response, err := http.Post(url, "application/yaml", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(answer))
}

const config = "functionConfig: {apiVersion: function.fairlead.io/v1alpha1, kind: FunctionConfig, metadata: {name: " +
	"a}}\n"

func TestAGeneratorBehindAHandlerGetsTheRequest(t *testing.T) {
	var got generator.Request
	url := handled(t, func(_ context.Context, req generator.Request) ([]client.Object, error) {
		got = req
		return nil, nil
	}, function.HandlerOptions{})
	want := request()
	if _, err := generate(t, function.Service{URL: url, Items: []generator.Reference{zones, db}}, function.Options{},
		want); err != nil {
		t.Fatal(err)
	}
	delete(want.References, other)
	if got.Report == nil || got.Target != nil || got.Local != nil || got.Source != nil {
		t.Errorf("got %+v", got)
	}
	got.Report = nil
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

func TestAFunctionGetsExportsAndNamesThoseItAsksFor(t *testing.T) {
	url := handled(t, func(_ context.Context, req generator.Request) ([]client.Object, error) {
		host, known := req.Exports.Value("dbHost")
		_, other := req.Exports.Value("other")
		return []client.Object{&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Data: map[string]string{"host": fmt.Sprintln(host, known, other)},
		}}, nil
	}, function.HandlerOptions{})
	var asked []string
	req := request()
	req.Exports = generator.NewExports(map[string]any{"dbHost": "10.0.0.7"}).
		OnAsk(func(name string) { asked = append(asked, name) })
	objects, err := generate(t, function.Service{URL: url}, function.Options{}, req)
	if err != nil || len(objects) != 1 || !slices.Equal(asked, []string{"dbHost", "other"}) {
		t.Fatalf("%v, %v, asked for %v", objects, err, asked)
	}
	manifest, ok := objects[0].(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("got a %T", objects[0])
	}
	if got, _, _ := unstructured.NestedString(manifest.Object, "data", "host"); got != "10.0.0.7 true false\n" {
		t.Errorf("the function got %q", got)
	}
}

func TestAFunctionGetsTheValuesOfEventSources(t *testing.T) {
	values := map[string]any{"rates": map[string]any{"EUR": 1.08, "count": int64(3)}}
	var got map[string]any
	url := handled(t, func(_ context.Context, req generator.Request) ([]client.Object, error) {
		got = req.Inputs
		return nil, nil
	}, function.HandlerOptions{})
	req := request()
	req.Inputs = values
	_, err := generate(t, function.Service{URL: url}, function.Options{}, req)
	if difference := cmp.Diff(values, got); err != nil || difference != "" {
		t.Errorf("%v; -want +got:\n%s", err, difference)
	}
}

func TestWhatAGeneratorRendersAndTellsComesBack(t *testing.T) {
	url := handled(t, func(_ context.Context, req generator.Request) ([]client.Object, error) {
		req.Tell(
			generator.Result{
				Severity: generator.SeverityWarning,
				Message:  "deprecated",
				Object:   "Shop a",
				Field:    "spec.x",
			},
		)
		req.Tell(generator.Result{Severity: generator.SeverityInfo, Message: "fine"})
		return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "typed"}}}, nil
	}, function.HandlerOptions{})
	var told []string
	req := request()
	req.Report = func(r generator.Result) { told = append(told, string(r.Severity)+" "+r.String()) }
	objects, err := generate(t, function.Service{URL: url}, function.Options{}, req)
	if err != nil || namesOf(objects) != "ConfigMap/typed" {
		t.Errorf("got %v, %v", objects, err)
	}
	if difference := cmp.Diff([]string{"warning spec.x: Shop a: deprecated", "info fine"}, told); difference != "" {
		t.Errorf("-want +got:\n%s", difference)
	}
}

// later is a temporary error.
type later struct{ error }

func (later) RetryAfter() time.Duration { return 1500 * time.Millisecond }

func TestWhatGoesWrongInAGeneratorReachesWhoCanMendIt(t *testing.T) {
	for name, c := range map[string]struct {
		generate  generator.GeneratorFunc
		want      string
		transient bool
		after     time.Duration
	}{
		"an error": {
			generate: func(context.Context, generator.Request) ([]client.Object, error) {
				return nil, errors.New("replicas must be odd")
			},
			want: "replicas must be odd",
		},
		"a temporary error": {generate: func(context.Context, generator.Request) ([]client.Object, error) {
			return nil, later{errors.New("not yet")}
		}, want: "the service answers 503 Service Unavailable", transient: true, after: 2 * time.Second},
		"too long": {generate: func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, want: "the service answers 503 Service Unavailable", transient: true},
		"a panic": {
			generate: func(context.Context, generator.Request) ([]client.Object, error) { panic("no way") },
			want:     "the generator panicked",
		},
		"a nil object": {
			generate: func(context.Context, generator.Request) ([]client.Object, error) { return []client.Object{nil}, nil },
			want:     "the generator returned nil as object 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := handled(t, c.generate, function.HandlerOptions{Timeout: 50 * time.Millisecond})
			_, err := generate(t, function.Service{URL: url}, function.Options{}, request())
			if err == nil || err.Error() != url+": "+c.want {
				t.Errorf("want %q, got %v", c.want, err)
			}
			if after, is := transient(err); is != c.transient || after != c.after {
				t.Errorf("want transient %v after %s, got %v after %s", c.transient, c.after, is, after)
			}
		})
	}
}

func TestAHandlerRefusesWhatItCannotRead(t *testing.T) {
	url := handled(t, func(context.Context, generator.Request) ([]client.Object, error) {
		t.Error("the generator was called for a request that cannot be read")
		return nil, nil
	}, function.HandlerOptions{MaxRequestBytes: 500})
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		"\x00":                              {400, "the body is neither JSON nor YAML"},
		"{}":                                {400, "the body is not a ResourceList of config.kubernetes.io/v1"},
		head + strings.Repeat("# more", 99): {413, "the request is larger than 500 bytes"},
		head: {
			200,
			`want a functionConfig of kind FunctionConfig, function.fairlead.io/v1alpha1`,
		},
		head + strings.Replace(config, "name: a", "", 1): {200, "functionConfig: no metadata.name"},
		head + config + "items: [{apiVersion: v1, kind: Pod}]": {
			200,
			"items[0]: want a Secret or a ConfigMap",
		},
		head + config + "items: [{apiVersion: v1, kind: Secret, data: {a: '%'}}]": {200, "items[0]: data[a]: want base64"},
		head + config + "items: [{apiVersion: v1, kind: ConfigMap, data: {a: 1}}]": {
			200,
			"items[0]: data: want a map of strings",
		},
	} {
		status, text := post(t, url, body)
		if status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%q: want %d %s, got %d %s", body, want.status, want.text, status, text)
		}
	}
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != http.MethodPost {
		t.Errorf("got %v", response)
	}
}

func TestAHandlerRendersNoMoreThanAllowedAtOnce(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	url := handled(t, func(context.Context, generator.Request) ([]client.Object, error) {
		arrived <- struct{}{}
		<-release
		return nil, nil
	}, function.HandlerOptions{MaxRenderings: 1})
	first := make(chan error)
	go func() {
		_, err := generate(t, function.Service{URL: url}, function.Options{}, request())
		first <- err
	}()
	<-arrived
	_, err := generate(t, function.Service{URL: url}, function.Options{}, request())
	if after, is := transient(err); !is || after != time.Second {
		t.Errorf("got %v after %s", err, after)
	}
	close(release)
	if err := <-first; err != nil {
		t.Errorf("got %v", err)
	}
}
