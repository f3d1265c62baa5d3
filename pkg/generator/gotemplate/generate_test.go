package gotemplate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
)

func TestConcurrentRenderingsDoNotInfluenceEachOther(t *testing.T) {
	g, err := gotemplate.New(sourceOf(map[string]string{
		"_x.tpl": `{{ define "x" }}{{ $_ := set .Values "word" (printf "%s-%s" .Values.word name) }}{{ .Values.word }}{{ end }}`,
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ tpl `{{ include \"x\" . }}` . }}'}",
	}), gotemplate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]any{"word": "w"}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			objects, err := g.Generate(t.Context(), generator.Request{Name: fmt.Sprint(i), Parameters: parameters})
			if err != nil {
				t.Error(err)
				return
			}
			if want := fmt.Sprintf("w-%d", i); objects[0].GetName() != want {
				t.Errorf("want %s, got %s", want, objects[0].GetName())
			}
		})
	}
	group.Wait()
}

func TestMissingKeysRenderNothingWhereAsked(t *testing.T) {
	g, err := gotemplate.New(sourceOf(map[string]string{
		"a.yaml": configMap + "  annotations: {a: 'x{{ .Values.missing }}', b: 'y{{ tpl \"{{ .Values.missing }}\" . }}'}",
	}), gotemplate.Options{MissingKeys: gotemplate.MissingKeysEmpty})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), generator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if annotations := objects[0].GetAnnotations(); !maps.Equal(annotations, map[string]string{"a": "x", "b": "y"}) {
		t.Errorf("got %v", annotations)
	}
}

// The templates stop when the context of the rendering ends.
func TestGenerateReturnsWhenItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g, err := gotemplate.New(sourceOf(map[string]string{
		"a.yaml": `{{ $_ := lookup "v1" "Secret" "a" "b" }}{{ range until 1000000 }}x{{ end }}`,
	}), gotemplate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	target := lookupFunc(func(context.Context) error {
		cancel()
		return &meta.NoKindMatchError{}
	})
	if _, err := g.Generate(ctx, generator.Request{Target: target}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLookup(t *testing.T) {
	g, err := gotemplate.New(sourceOf(map[string]string{
		"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n" +
			"  name: empty-{{ empty (lookup \"example.com/v1\" \"Thing\" \"\" \"a\") }}",
	}), gotemplate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("finds no object of a kind that is not served", func(t *testing.T) {
		target := lookupFunc(func(context.Context) error { return &meta.NoKindMatchError{} })
		objects, err := g.Generate(t.Context(), generator.Request{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		if name := objects[0].GetName(); name != "empty-true" {
			t.Errorf("got %s", name)
		}
	})
	t.Run("returns an error if reading is forbidden", func(t *testing.T) {
		target := lookupFunc(func(context.Context) error {
			return apierrors.NewForbidden(
				schema.GroupResource{Group: "example.com", Resource: "things"},
				"a",
				errors.New("no"),
			)
		})
		_, err := g.Generate(t.Context(), generator.Request{Target: target})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a.yaml:4") {
			t.Errorf("got %v", err)
		}
	})
}

// lookupFunc is a Lookup whose methods return the error of a function.
type lookupFunc func(ctx context.Context) error

func (f lookupFunc) Get(
	ctx context.Context,
	_ schema.GroupVersionKind,
	_, _ string,
) (*unstructured.Unstructured, error) {
	return nil, f(ctx)
}

func (f lookupFunc) List(
	ctx context.Context,
	_ schema.GroupVersionKind,
	_ string,
) (*unstructured.UnstructuredList, error) {
	return nil, f(ctx)
}
