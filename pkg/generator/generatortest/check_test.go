package generatortest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
)

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}},
		Data:       map[string]string{"a": "b"},
	}
}

func requests() []generator.Request {
	return []generator.Request{
		{Namespace: "apps", Name: "a", Parameters: map[string]any{"size": int64(1)}, Target: generatortest.Lookup{}},
		{Namespace: "apps", Name: "b", Parameters: map[string]any{"size": int64(2)}, Target: generatortest.Lookup{}},
	}
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// good is a generator that fulfils the whole contract.
func good(ctx context.Context, req generator.Request) ([]client.Object, error) {
	if _, err := req.Target.List(ctx, podKind, req.Namespace); err != nil {
		return nil, fmt.Errorf("look up: %w", err)
	}
	return []client.Object{named(req.Name), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": req.Name},
		"spec": map[string]any{"ports": []any{map[string]any{"port": req.Parameters["size"]}}},
	}}}, nil
}

func TestAGoodGeneratorPasses(t *testing.T) {
	generatortest.Check(t, generator.GeneratorFunc(good), generatortest.Options{}, requests()...)
}

func TestWhatAReconcilerReliesOnIsChecked(t *testing.T) {
	shared := named("shared")
	data := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Service",
			"metadata":   map[string]any{"name": "a"},
			"spec":       map[string]any{"clusterIP": "None"},
		},
	}
	var calls, rendered atomic.Int64
	var last atomic.Value
	last.Store("")
	for want, generate := range map[string]generator.GeneratorFunc{
		"the request cannot be rendered: no way": func(context.Context,
			generator.Request,
		) ([]client.Object, error) {
			return nil, errors.New("no way")
		},
		"the request cannot be rendered: the generator panicked: no way": func(context.Context,
			generator.Request,
		) ([]client.Object, error) {
			panic("no way")
		},
		"a second rendering differs": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{named(fmt.Sprint("a", rand.N(1<<60)))}, nil
		},
		"a rendering at another time differs": func(_ context.Context, req generator.Request) ([]client.Object, error) {
			return []client.Object{named(req.Now.Format("a2006"))}, nil
		},
		"a second rendering fails: once": func(context.Context, generator.Request) ([]client.Object, error) {
			if calls.Add(1) > 1 {
				return nil, errors.New("once")
			}
			return nil, nil
		},
		"a rendering after the objects of the first rendering were changed " +
			"differs": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{shared}, nil
		},
		"return new objects each " +
			"time": func(context.Context, generator.Request) ([]client.Object, error) { return []client.Object{data}, nil },
		"a rendering after renderings of other requests " +
			"differs": func(_ context.Context, req generator.Request) ([]client.Object, error) {
			if req.Name == "b" {
				last.Store("-b")
			}
			return []client.Object{named(fmt.Sprint("a", last.Load()))}, nil
		},
		"a rendering at the same time as others differs": func(context.Context, generator.Request) ([]client.Object, error) {
			// The first seven renderings run one after the other, the further renderings run concurrently.
			return []client.Object{named(fmt.Sprint("a", rendered.Add(1) > 7))}, nil
		},
		"the generator returned 1 object although its context had ended " +
			"before": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{named("a")}, nil
		},
		"and the generator returned another error": func(ctx context.Context, _ generator.Request) ([]client.Object, error) {
			if ctx.Err() != nil {
				return nil, errors.New("stopped")
			}
			return nil, nil
		},
		"the context ended during a look-up": func(ctx context.Context, req generator.Request) ([]client.Object, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			_, _ = req.Target.Get(ctx, podKind, "", "a")
			return nil, nil
		},
		"the generator changed the request": func(ctx context.Context, req generator.Request) ([]client.Object, error) {
			req.Parameters["more"] = true
			return nil, ctx.Err()
		},
		"the generator did not return within twice " +
			"the timeout": func(context.Context, generator.Request) ([]client.Object, error) { select {} },
		"the generator returned 4 objects, more than the limit of 3": func(context.Context,
			generator.Request,
		) ([]client.Object, error) {
			return []client.Object{named("a"), named("b"), named("c"), named("d")}, nil
		},
		"ConfigMap apps/a: an API server would refuse it: datum: field not declared in schema": func(
			context.Context, generator.Request,
		) ([]client.Object, error) {
			return []client.Object{&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "datum": "b",
			}}}, nil
		},
		"ConfigMap apps/a: rendered more than once": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{named("a"), named("a")}, nil
		},
		"object 1 is nil": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{nil},
				nil
		},
		"object 1, a ConfigMap, has no name": func(context.Context, generator.Request) ([]client.Object, error) {
			return []client.Object{named("")}, nil
		},
		`called "a": the object has no apiVersion and kind; set apiVersion and kind`: func(context.Context,
			generator.Request,
		) ([]client.Object, error) {
			return []client.Object{&unstructured.Unstructured{Object: map[string]any{
				"kind":     "A",
				"metadata": map[string]any{"name": "a"},
			}}}, nil
		},
	} {
		t.Run(want, func(t *testing.T) {
			o := generatortest.Options{MaxObjects: 3}
			if strings.Contains(want, "twice the timeout") {
				o.Timeout = 20 * time.Millisecond
			}
			if err := generatortest.Verify(t.Context(), generate, o, requests()...); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFindingNamesTheRequest(t *testing.T) {
	onlyA := generator.GeneratorFunc(func(ctx context.Context, req generator.Request) ([]client.Object, error) {
		if req.Name == "b" {
			return nil, errors.New("no b")
		}
		return good(ctx, req)
	})
	err := generatortest.Verify(t.Context(), onlyA, generatortest.Options{}, requests()...)
	if err == nil || err.Error() != "request 2 (apps/b): the request cannot be rendered: no b" {
		t.Errorf("got %v", err)
	}
	if generatortest.Verify(t.Context(), onlyA, generatortest.Options{}) == nil {
		t.Error("Verify returned no error without requests")
	}
}

// Verify returns the violations as an error, for use with any test framework.
func ExampleVerify() {
	forgetful := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{named(req.Name)}, nil
	})
	fmt.Println(
		generatortest.Verify(
			context.Background(),
			forgetful,
			generatortest.Options{},
			generator.Request{Namespace: "default", Name: "demo"},
		),
	)
	// Output:
	// request 1 (default/demo): the generator returned 1 object although its context had ended before; check ctx.Err() first
}
