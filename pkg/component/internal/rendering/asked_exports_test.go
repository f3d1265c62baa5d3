package rendering

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestCheckAsked(t *testing.T) {
	exporter := func(kind, name string) manifests.Object {
		return manifests.Object{
			Key: manifests.Key{Kind: kind, Namespace: "shop", Name: "db"},
			Settings: manifests.Settings{Rare: &manifests.RareSettings{
				Exports: []manifests.Export{{Name: name, Expression: "self.x"}},
			}},
		}
	}
	for _, c := range []struct {
		name    string
		objects []manifests.Object
		asked   []metav1alpha1.AskedExport
		// want is empty if the set is accepted.
		want string
	}{
		{"asks for nothing", nil, nil, ""},
		{
			"an export without a value yet",
			[]manifests.Object{exporter("Service", "a")},
			[]metav1alpha1.AskedExport{{Name: "a"}},
			"",
		},
		{
			"an unknown name",
			[]manifests.Object{exporter("Service", "a")},
			[]metav1alpha1.AskedExport{{Name: "b"}},
			"export b, which no object of it exports; the exports are a",
		},
		{"an unknown name, and no exports", nil, []metav1alpha1.AskedExport{{Name: "b"}}, "no object exports a value"},
		{
			"an object that may be missing because of another export",
			[]manifests.Object{exporter("Service", "a")},
			[]metav1alpha1.AskedExport{{Name: "a"}, {Name: "b"}},
			"",
		},
		{
			"an unknown name, although all other values are known",
			[]manifests.Object{exporter("Service", "a")},
			[]metav1alpha1.AskedExport{{Name: "a", Value: `"1"`}, {Name: "b"}},
			"export b, which no object",
		},
		{"a value whose object is not rendered any more", nil, []metav1alpha1.AskedExport{{Name: "a", Value: `"1"`}}, ""},
		{
			"a Secret",
			[]manifests.Object{exporter("Secret", "a")},
			[]metav1alpha1.AskedExport{{Name: "a"}},
			"export a of Secret shop/db: values of Secrets are not available",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkAsked(Set{Objects: c.objects, Rendered: Rendered{Lookups: lookup.Lookups{Exports: c.asked}}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestExportsCauseRenderings(t *testing.T) {
	s := newScene(t)
	exporter := settings("a", "1")
	exporter.SetAnnotations(map[string]string{reconciler + "/export": "x=self.data.value, y=self.data.other"})
	var got []any
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		value, _ := req.Exports.Value("x")
		got = append(got, value)
		return []client.Object{exporter}, nil
	}
	for _, step := range []struct {
		name    string
		exports []metav1alpha1.AskedExport
		want    []any
	}{
		{"new inputs are rendered twice", nil, []any{nil, nil}},
		{"nothing changed", nil, nil},
		{"an export that nobody asked for", []metav1alpha1.AskedExport{{Name: "y", Value: `"1"`}}, nil},
		{"a first value", []metav1alpha1.AskedExport{{Name: "x", Value: `"1"`}}, []any{"1", "1"}},
		{"the same value", []metav1alpha1.AskedExport{{Name: "x", Value: `"1"`}}, nil},
		{"another value", []metav1alpha1.AskedExport{{Name: "x", Value: `[2]`}}, []any{[]any{int64(2)}, []any{int64(2)}}},
	} {
		got, s.request.Exports = nil, step.exports
		set, _, err := s.render()
		if err != nil || len(got) != len(step.want) || !slices.EqualFunc(got, step.want, equalValues) {
			t.Errorf("%s: got %v, %v, want %v", step.name, got, err, step.want)
		}
		if asked := set.Asked(); len(asked) != 1 || !asked[0].IsDeclared() || asked[0].Exporter.Name != "a" {
			t.Errorf("%s: asked for %+v", step.name, asked)
		}
	}
}

func equalValues(a, b any) bool {
	return generator.NewExports(map[string]any{"v": a}).Equal(generator.NewExports(map[string]any{"v": b}))
}

func TestAFailedRenderingNamesTheMissingExports(t *testing.T) {
	s := newScene(t)
	s.generate = func(_ context.Context, req generator.Request) ([]client.Object, error) {
		if _, ok := req.Exports.Value("x"); !ok {
			return nil, errors.New("no x")
		}
		return nil, nil
	}
	if _, _, err := s.render(); err == nil || !strings.Contains(err.Error(),
		"no x; the rendering asked for exports that have no value yet: x;") {
		t.Errorf("got %v", err)
	}
}
