package isolate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func TestMain(m *testing.M) {
	Main(func() (generator.Generator, *runtime.Scheme, error) {
		return actor{}, clientgoscheme.Scheme, nil
	})
	os.Exit(m.Run())
}

// acts are the renderings that the tests request, by the parameter act. They run in the child.
var acts = map[string]func(ctx context.Context, req generator.Request) (any, error){
	"echo":   func(_ context.Context, req generator.Request) (any, error) { return req.Parameters["value"], nil },
	"inputs": inputs,
	"input": func(_ context.Context, req generator.Request) (any, error) {
		return req.Inputs[fmt.Sprint(req.Parameters["value"])], nil
	},
	"export": func(_ context.Context, req generator.Request) (any, error) {
		value, _ := req.Exports.Value(fmt.Sprint(req.Parameters["value"]))
		return value, nil
	},
	"open": func(context.Context, generator.Request) (any, error) {
		_, err := os.ReadFile("/etc/hostname")
		return nil, err
	},
	"open itself": func(context.Context, generator.Request) (any, error) {
		_, err := os.ReadFile("/proc/self/exe")
		return nil, err
	},
	"list": func(context.Context, generator.Request) (any, error) {
		_, err := os.ReadDir("/")
		return nil, err
	},
	"stat": func(context.Context, generator.Request) (any, error) {
		_, err := os.Stat("/etc/hostname")
		return nil, err
	},
	"write": func(context.Context, generator.Request) (any, error) {
		return nil, os.WriteFile(filepath.Join(os.TempDir(), "isolated"), []byte("x"), 0o600)
	},
	"connect": func(_ context.Context, req generator.Request) (any, error) {
		_, err := net.DialTimeout("tcp", fmt.Sprint(req.Parameters["value"]), time.Second)
		return nil, err
	},
	"udp": func(_ context.Context, req generator.Request) (any, error) {
		_, err := net.Dial("udp", fmt.Sprint(req.Parameters["value"]))
		return nil, err
	},
	"listen": func(context.Context, generator.Request) (any, error) {
		_, err := net.Listen("tcp", "127.0.0.1:0")
		return nil, err
	},
	"environment": func(context.Context, generator.Request) (any, error) {
		names := []any{}
		for _, variable := range os.Environ() {
			name, _, _ := strings.Cut(variable, "=")
			names = append(names, name)
		}
		return names, nil
	},
	"exec": func(context.Context, generator.Request) (any, error) { return nil, exec.Command("/bin/true").Run() },
	"exec itself": func(context.Context, generator.Request) (any, error) {
		return nil, syscall.Exec("/proc/self/exe", []string{"x", childArgument}, nil)
	},
	"signal": func(context.Context, generator.Request) (any, error) {
		return nil, syscall.Kill(os.Getppid(), syscall.SIGTERM)
	},
	"memory": func(context.Context, generator.Request) (any, error) {
		var all [][]byte
		for range 4096 {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
		}
		return len(all), nil
	},
	"nodes": func(context.Context, generator.Request) (any, error) {
		all := make([]any, 3_000_000)
		return all, nil
	},
	"stack": func(context.Context, generator.Request) (any, error) { return deeper(1), nil },
	"loop": func(context.Context, generator.Request) (any, error) {
		for i := 0; ; i++ {
			if i < 0 {
				return i, nil
			}
		}
	},
	"wait": func(ctx context.Context, _ generator.Request) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
	"garbage": func(ctx context.Context, _ generator.Request) (any, error) {
		_, err := os.NewFile(answersDescriptor, "answers").WriteString("\x00\x00\x00\x04\xff\xff\xff\xffgarbage")
		<-ctx.Done()
		return nil, err
	},
	"huge length": func(ctx context.Context, _ generator.Request) (any, error) {
		_, err := os.NewFile(answersDescriptor, "answers").WriteString("\xff\xff\xff\xff")
		<-ctx.Done()
		return nil, err
	},
	"exit": func(context.Context, generator.Request) (any, error) {
		os.Exit(0)
		return nil, nil
	},
	"panic": func(context.Context, generator.Request) (any, error) { panic("by a test") },
	"print": func(context.Context, generator.Request) (any, error) {
		fmt.Println("printed")
		return "printed", nil
	},
	"look-ups": func(ctx context.Context, req generator.Request) (any, error) {
		for i := range 1_000_000 {
			_, _ = req.Target.Get(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "shop", fmt.Sprint(i))
		}
		return nil, nil
	},
	"get": func(ctx context.Context, req generator.Request) (any, error) {
		o, err := req.Target.Get(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "shop",
			fmt.Sprint(req.Parameters["value"]))
		if err != nil {
			return nil, fmt.Errorf("look up %q (missing %v, unserved %v): %w", req.Parameters["value"],
				apierrors.IsNotFound(err), meta.IsNoMatchError(err), err)
		}
		return []any{o.GetName(), req.Owns(o)}, nil
	},
	"list objects": func(ctx context.Context, req generator.Request) (any, error) {
		list, err := req.Local.List(ctx, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "shop")
		if err != nil {
			return nil, err
		}
		return []any{list.GetResourceVersion(), list.Items[0].GetName()}, nil
	},
	"retry": func(context.Context, generator.Request) (any, error) {
		return nil, fmt.Errorf("wrapped: %w", retryError{5 * time.Second})
	},
	"terminal": func(context.Context, generator.Request) (any, error) {
		return nil, fmt.Errorf("wrapped: %w", reconcile.TerminalError(errors.New("never")))
	},
	"outside": func(ctx context.Context, req generator.Request) (any, error) {
		objects, err := Outside("service", nil).Generate(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("outside: %w", err)
		}
		return objects[0].GetName(), nil
	},
}

// deeper nests until the stack overflows.
func deeper(n int) int {
	if n == 0 {
		return 0
	}
	return deeper(n+1) + 1
}

// actor is the generator of the children. It proves the renderings with the value "proven".
type actor struct{}

// Generate implements generator.Generator.
func (actor) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	return act(ctx, req)
}

// Prove implements generator.Prover.
func (actor) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	objects, err := act(ctx, req)
	return objects, req.Parameters["value"] == "proven", err
}

// act renders a ConfigMap with the result of an act.
func act(ctx context.Context, req generator.Request) ([]client.Object, error) {
	name, _ := req.Parameters["act"].(string)
	result, err := acts[name](ctx, req)
	if err != nil {
		return nil, err
	}
	return []client.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "result"}, "result": result,
	}}}, nil
}

// inputs returns what a child gets.
func inputs(_ context.Context, req generator.Request) (any, error) {
	component, _ := req.Component.(*corev1.ConfigMap)
	content, err := req.Source.Open("charts/web/Chart.yaml")
	if err != nil {
		return nil, err
	}
	info, err := content.Stat()
	if err != nil {
		return nil, err
	}
	req.Tell(generator.Result{Severity: generator.SeverityWarning, Message: "old"})
	req.Versioned("web-1.2.0")
	req.Locate(generator.Origin{Kind: "ConfigMap", Name: "result", File: "web.yaml"})
	reference := generator.Reference{Kind: metav1alpha1.SecretReference, Namespace: "shop", Name: "keys"}
	return []any{
		req.Namespace, req.Name, component.Name, component.Data["a"], info.Size(), req.SourceDigest,
		string(req.References[reference]["k"]), req.Revision, req.Digest, req.Trial, req.Capabilities.Version.Minor,
		req.Capabilities.APIVersions.Has("apps/v1"), req.Now.UTC().Format(time.RFC3339), component.APIVersion,
	}, nil
}

// cluster is a Lookup.
type cluster struct{}

func (cluster) Get(
	_ context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	resource := schema.GroupResource{Resource: "configmaps"}
	switch name {
	case "here":
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(gvk)
		o.SetNamespace(namespace)
		o.SetName(name)
		o.SetLabels(map[string]string{"own": "yes"})
		return o, nil
	case "unserved":
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{"v1"}}
	case "forbidden":
		return nil, apierrors.NewForbidden(resource, name, errors.New("no right"))
	case "busy":
		return nil, errBusy
	}
	return nil, apierrors.NewNotFound(resource, name)
}

func (cluster) List(context.Context, schema.GroupVersionKind, string) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
	list.SetResourceVersion("7")
	list.Items = []unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}}
	return list, nil
}

var errBusy = errors.New("the API server is busy")

// newGenerator returns a generator with small bounds.
func newGenerator(t *testing.T, change ...func(*Options)) *Generator {
	t.Helper()
	o := Options{Processes: 1, Memory: 256 << 20, Timeout: 20 * time.Second, Scheme: clientgoscheme.Scheme}
	for _, f := range change {
		f(&o)
	}
	g, err := New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// render requests an act.
func render(t *testing.T, g *Generator, act string, value any) (any, error) {
	t.Helper()
	objects, err := g.Generate(t.Context(), requestOf(act, value))
	if err != nil {
		return nil, err
	}
	u, ok := objects[0].(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("%T", objects[0])
	}
	return u.Object["result"], nil
}

func requestOf(act string, value any) generator.Request {
	return generator.Request{
		Namespace: "shop", Name: "web", Parameters: map[string]any{"act": act, "value": value},
		Target: cluster{}, Local: cluster{},
		Owns:   func(o *unstructured.Unstructured) bool { return o.GetLabels()["own"] == "yes" },
		Report: func(generator.Result) {}, Locate: func(generator.Origin) {},
	}
}

// mustWork fails the test unless the next rendering works.
func mustWork(t *testing.T, g *Generator) {
	t.Helper()
	if got, err := render(t, g, "echo", "ok"); err != nil || got != "ok" {
		t.Fatalf("the next rendering: %v, %v", got, err)
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	g := newGenerator(t)
	for _, value := range []any{
		nil, true, "text", "", int64(1), int64(-1 << 62), 1.0, 1.5,
		[]any{},
		map[string]any{},
		[]any{nil, int64(1), map[string]any{"a": nil, "b": []any{1.0}}},
		"\xff",
	} {
		if got, err := render(t, g, "echo", value); err != nil || !reflect.DeepEqual(got, value) {
			t.Errorf("%#v became %#v, %v", value, got, err)
		}
	}
}

func TestARequestArrivesCompletely(t *testing.T) {
	g := newGenerator(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var told []string
	req := requestOf("inputs", nil)
	req.Component = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"},
		Data:       map[string]string{"a": "b"},
	}
	req.Source = fstest.MapFS{"charts/web/Chart.yaml": {Data: []byte("name: web")}}
	req.SourceDigest, req.Revision, req.Digest, req.Now, req.Trial = "s", 7, "d", now, true
	req.References = generator.References{
		{Kind: metav1alpha1.SecretReference, Namespace: "shop", Name: "keys"}: {"k": []byte("\x00v")},
	}
	req.Capabilities = generator.Capabilities{
		Version:     version.Info{Minor: "36"},
		APIVersions: generator.NewAPIVersions("apps/v1", "batch/v1"),
	}
	asked := map[string]bool{}
	req.Capabilities.APIVersions = req.Capabilities.APIVersions.OnAsk(func(v string) { asked[v] = true })
	req.Report = func(r generator.Result) { told = append(told, r.Message) }
	req.Locate = func(o generator.Origin) { told = append(told, o.File) }
	req.SourceVersion = func(v string) { told = append(told, v) }
	for range 2 { // The second request uses the caches of the child.
		told = nil
		objects, err := g.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{
			"shop", "web", "c", "b", int64(9), "s", "\x00v", int64(7), "d", true, "36", true, "2026-01-02T03:04:05Z", "",
		}
		object, ok := objects[0].(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("got a %T", objects[0])
		}
		if got := object.Object["result"]; !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v\nwant %#v", got, want)
		}
		if want := []string{"old", "web.yaml", "web-1.2.0"}; !reflect.DeepEqual(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if want := map[string]bool{"apps/v1": true}; !reflect.DeepEqual(asked, want) {
			t.Errorf("recorded questions %v, want %v", asked, want)
		}
	}
}

func TestAProofOfAChildArrives(t *testing.T) {
	g := newGenerator(t)
	for value, want := range map[string]bool{"proven": true, "other": false} {
		objects, proven, err := generator.Prove(t.Context(), g, requestOf("echo", value))
		if err != nil || len(objects) != 1 || proven != want {
			t.Errorf("%s: got %d objects, proven %t, %v", value, len(objects), proven, err)
		}
	}
}

func TestAChildGetsExportsAndNamesThoseItAsksFor(t *testing.T) {
	g := newGenerator(t)
	for name, want := range map[string]any{"port": int64(5432), "none": nil} {
		var asked []string
		req := requestOf("export", name)
		req.Exports = generator.NewExports(map[string]any{"port": int64(5432), "other": "x"}).OnAsk(
			func(name string) { asked = append(asked, name) })
		objects, err := g.Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		object, ok := objects[0].(*unstructured.Unstructured)
		if !ok || !reflect.DeepEqual(object.Object["result"], want) || !reflect.DeepEqual(asked, []string{name}) {
			t.Errorf("%s: got %v, asked for %v", name, objects[0], asked)
		}
	}
}

func TestAChildGetsTheValuesOfEventSources(t *testing.T) {
	g := newGenerator(t)
	req := requestOf("input", "rates")
	req.Inputs = map[string]any{"rates": map[string]any{"EUR": 1.08, "count": int64(3)}}
	objects, err := g.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	object, ok := objects[0].(*unstructured.Unstructured)
	if !ok || !reflect.DeepEqual(object.Object["result"], req.Inputs["rates"]) {
		t.Errorf("the child got %v", objects[0])
	}
}

func TestAChildReachesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	t.Setenv("CREDENTIAL", "secret")
	g := newGenerator(t)
	for _, act := range []string{
		"open", "open itself", "list", "stat", "write", "connect", "udp", "listen", "exec", "exec itself", "signal",
	} {
		_, err := render(t, g, act, listener.Addr().String())
		if err == nil || !strings.Contains(err.Error(), "not permitted") && !strings.Contains(err.Error(), "denied") {
			t.Errorf("%s: %v", act, err)
		}
		mustWork(t, g)
	}
	got, err := render(t, g, "environment", nil)
	if want := []any{"GOTRACEBACK", "GOMAXPROCS"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("environment %v, %v", got, err)
	}
}

func TestARenderingThatGetsOutOfHandIsKilledAlone(t *testing.T) {
	for _, c := range []struct{ act, want string }{
		{"memory", "the rendering was killed: it needed more than 256 MiB of memory"},
		{"nodes", "the rendering was killed: its result, or a look-up, has more than 2000000 maps, lists, values and keys"},
		{"stack", "the rendering was killed: its calls or its data nest too deep (stack overflow)"},
		{"loop", "the rendering was killed: it took longer than 2 s"},
		{"garbage", "the rendering was killed: its process sent an invalid message"},
		{"huge length", "the rendering was killed: its process sent an invalid message"},
		{"exit", "the rendering was killed: its process ended before the rendering was complete (exit status 0)"},
		{"look-ups", "the rendering was killed: it made more than 100 look-ups"},
	} {
		t.Run(c.act, func(t *testing.T) {
			g := newGenerator(t, func(o *Options) {
				switch c.act {
				case "loop":
					o.Timeout = 2 * time.Second
				case "look-ups":
					o.Lookups = 100
				}
			})
			_, err := render(t, g, c.act, nil)
			if _, ok := errors.AsType[*generator.KilledError](err); !ok || err.Error() != c.want {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			mustWork(t, g)
		})
	}
}

func TestAnErrorKeepsWhatCallersDistinguish(t *testing.T) {
	g := newGenerator(t, func(o *Options) {
		o.Outside = map[string]generator.Generator{"service": generator.GeneratorFunc(
			func(context.Context, generator.Request) ([]client.Object, error) { return nil, errBusy })}
	})
	var retry interface{ RetryAfter() time.Duration }
	for _, c := range []struct {
		act, value, message string
		is                  func(error) bool
	}{
		{
			"get", "missing", `look up "missing" (missing true, unserved false): configmaps "missing" not found`,
			apierrors.IsNotFound,
		},
		{
			"get", "unserved",
			`look up "unserved" (missing false, unserved true): no matches for kind "ConfigMap" in version "v1"`,
			meta.IsNoMatchError,
		},
		{
			"get", "forbidden",
			`look up "forbidden" (missing false, unserved false): configmaps "forbidden" is forbidden: no right`,
			apierrors.IsForbidden,
		},
		{
			"get", "busy",
			`look up "busy" (missing false, unserved false): the API server is busy`, func(err error) bool {
				return errors.Is(
					err, errBusy)
			},
		},
		{"outside", "", "outside: the API server is busy", func(err error) bool { return errors.Is(err, errBusy) }},
		{"retry", "", "wrapped: retry after 5s", func(err error) bool {
			return errors.As(err, &retry) &&
				retry.RetryAfter() == 5*time.Second
		}},
		{"terminal", "", "wrapped: terminal error: never", func(err error) bool {
			return errors.Is(err,
				reconcile.TerminalError(nil))
		}},
		{"panic", "", "the generator panicked: by a test", func(err error) bool { return !errors.As(err, &retry) }},
	} {
		_, err := render(t, g, c.act, c.value)
		if err == nil || err.Error() != c.message || !c.is(err) {
			t.Errorf("%s %s: %v", c.act, c.value, err)
		}
	}
	mustWork(t, g)
}

func TestAChildAsksItsParent(t *testing.T) {
	var parameters map[string]any
	g := newGenerator(t, func(o *Options) {
		o.Outside = map[string]generator.Generator{"service": generator.GeneratorFunc(
			func(_ context.Context, req generator.Request) ([]client.Object, error) {
				parameters = req.Parameters
				return []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "from-outside"}}}, nil
			})}
	})
	for _, c := range []struct {
		act, value string
		want       any
	}{
		{"get", "here", []any{"here", true}},
		{"list objects", "", []any{"7", "a"}},
		{"outside", "x", "from-outside"},
		{"print", "", "printed"},
	} {
		if got, err := render(t, g, c.act, c.value); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v", c.act, got, err)
		}
	}
	if parameters["value"] != "x" {
		t.Errorf("parameters %v", parameters)
	}
}

func TestACancelledRequestIsNoKill(t *testing.T) {
	g := newGenerator(t)
	mustWork(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := g.Generate(ctx, requestOf("loop", nil))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustWork(t, g)
}

func TestARenderingThatHonoursItsContextReturnsItsOwnError(t *testing.T) {
	g := newGenerator(t, func(o *Options) { o.Timeout = time.Second })
	_, err := render(t, g, "wait", nil)
	if _, killed := errors.AsType[*generator.KilledError](err); killed || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestAChildIsReplacedAfterManyRenderings(t *testing.T) {
	g := newGenerator(t, func(o *Options) { o.Renderings = 2 })
	var seen []int
	for range 4 {
		mustWork(t, g)
		if len(g.idle) > 0 {
			seen = append(seen, g.idle[0].process.Pid)
		}
	}
	if len(seen) != 2 || seen[0] == seen[1] {
		t.Errorf("processes %v", seen)
	}
}

// BenchmarkGenerate measures what a child adds to a small rendering.
func BenchmarkGenerate(b *testing.B) {
	g, err := New(nil, Options{Processes: 1, Scheme: clientgoscheme.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		if _, err := g.Generate(b.Context(), requestOf("echo", "x")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart measures the start of a child.
func BenchmarkStart(b *testing.B) {
	g, err := New(nil, Options{Processes: 1, Renderings: 1, Scheme: clientgoscheme.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	for b.Loop() {
		if _, err := g.Generate(b.Context(), requestOf("echo", "x")); err != nil {
			b.Fatal(err)
		}
	}
}
