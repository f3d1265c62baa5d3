package generator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// renders returns a generator of ConfigMaps. Each argument is a name, or a namespace and a name.
func renders(names ...string) generator.Generator {
	return generator.GeneratorFunc(func(_ context.Context, _ generator.Request) ([]client.Object, error) {
		var objects []client.Object
		for _, name := range names {
			namespace, name, found := strings.Cut(name, "/")
			if !found {
				namespace, name = "", namespace
			}
			objects = append(
				objects,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
			)
		}
		return objects, nil
	})
}

// versioned adds a version to a generator.
type versioned struct {
	generator.Generator
	version string
}

func (v versioned) Version() string { return v.version }

// versionedStep is a transformer of objects and of parameters that has a version.
type versionedStep struct {
	generator.TransformerFunc
	generator.ParameterTransformerFunc
	version string
}

func (v versionedStep) Version() string { return v.version }

// suffix returns a transformer that appends text to all names.
func suffix(text string) generator.Transformer {
	return generator.TransformerFunc(
		func(_ context.Context, _ generator.Request, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured,
			error,
		) {
			for _, object := range objects {
				object.SetName(object.GetName() + text)
			}
			return objects, nil
		},
	)
}

func namesOf(t *testing.T, g generator.Generator, parameters map[string]any) string {
	t.Helper()
	objects, err := g.Generate(t.Context(), generator.Request{Namespace: "apps", Name: "shop", Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return strings.Join(names, " ")
}

func expect(t *testing.T, want, got any) {
	t.Helper()
	if want != got {
		t.Errorf("want %v, got %v", want, got)
	}
}

func expectError(t *testing.T, want string, err error) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("want the error\n%s\ngot\n%v", want, err)
	}
}

func TestAChainAppliesTransformersInTheirOrder(t *testing.T) {
	expect(t, "a-1-2 b-1-2", namesOf(t, generator.Chain(renders("a", "b"), suffix("-1"), suffix("-2")), nil))
}

func TestAChainChangesNothingThatItsGeneratorKept(t *testing.T) {
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	// Whole numbers that are not an int64 are common in objects that are written in Go.
	data := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Service",
			"metadata":   map[string]any{"name": "b"},
			"spec":       map[string]any{"port": 1},
		},
	}
	g := generator.GeneratorFunc(func(context.Context, generator.Request) ([]client.Object, error) {
		return []client.Object{kept, data}, nil
	})
	expect(t, "a-1 b-1", namesOf(t, generator.Chain(g, suffix("-1")), nil))
	expect(t, "a b", kept.Name+" "+data.GetName())
}

func TestAChainSaysWhichObjectIsNone(t *testing.T) {
	g := generator.GeneratorFunc(
		func(context.Context, generator.Request) ([]client.Object, error) { return []client.Object{nil}, nil },
	)
	_, err := generator.Chain(g, suffix("-1")).Generate(t.Context(), generator.Request{})
	expectError(t, "the generator returned nil as object 1", err)
}

func TestParametersAreChangedInOrderAndTheRequestStays(t *testing.T) {
	add := func(text string) generator.ParameterTransformer {
		return generator.ParameterTransformerFunc(
			func(_ context.Context, req generator.Request) (map[string]any, error) {
				list, _ := req.Parameters["list"].([]any)
				list[0] = fmt.Sprint(list[0], text)
				req.Parameters["list"] = append(list, text)
				return req.Parameters, nil
			},
		)
	}
	g := generator.GeneratorFunc(func(_ context.Context, req generator.Request) ([]client.Object, error) {
		return []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(req.Parameters["list"])}},
		}, nil
	})
	parameters := map[string]any{"list": []any{"a"}}
	expect(t, "[abc b c]", namesOf(t, generator.WithParameters(g, add("b"), add("c")), parameters))
	expect(t, "map[list:[a]]", fmt.Sprint(parameters))
}

func TestAMergeHoldsAllPartsInTheirOrder(t *testing.T) {
	expect(
		t,
		"b a c",
		namesOf(
			t,
			generator.Merge(generator.Part{Generator: renders("b", "a")}, generator.Part{Generator: renders("c")}),
			nil,
		),
	)
}

func TestAMergeRejectsWhatIsRenderedTwice(t *testing.T) {
	g := generator.Merge(
		generator.Part{Name: "base", Generator: renders("a", "other/b", "c")},
		generator.Part{Name: "extras", Generator: renders("apps/a", "b")},
		generator.Part{Generator: renders("c", "d", "d")},
	)
	_, err := g.Generate(t.Context(), generator.Request{Namespace: "apps"})
	expectError(t, `ConfigMap apps/a is rendered twice, by base and by extras; render it only once
ConfigMap c is rendered twice, by base and by part 3; render it only once
ConfigMap d is rendered twice, by part 3 and by part 3; render it only once`, err)
}

func TestAMergeReportsTheErrorsOfAllParts(t *testing.T) {
	failing := func(text string) generator.Generator {
		return generator.GeneratorFunc(
			func(context.Context, generator.Request) ([]client.Object, error) { return nil, errors.New(text) },
		)
	}
	g := generator.Merge(
		generator.Part{Name: "base", Generator: failing("no")},
		generator.Part{Generator: failing("never")},
	)
	_, err := g.Generate(t.Context(), generator.Request{})
	expectError(t, "base: no\npart 2: never", err)
}

func TestASwitchChoosesByAParameter(t *testing.T) {
	g := generator.Switch(map[string]generator.Generator{
		"postgres": renders("p"), "true": renders("t"), "2": renders("two"), "": renders("none"),
	}, "database", "kind")
	for want, parameters := range map[string]map[string]any{
		"p":    {"database": map[string]any{"kind": "postgres"}},
		"t":    {"database": map[string]any{"kind": true}},
		"two":  {"database": map[string]any{"kind": int64(2)}},
		"none": {"database": map[string]any{"kind": nil}},
	} {
		expect(t, want, namesOf(t, g, parameters))
	}
	for _, missing := range []map[string]any{
		nil,
		{},
		{"database": nil},
		{"database": map[string]any{}},
		{"database": map[string]any{"kind": ""}},
	} {
		expect(t, "none", namesOf(t, g, missing))
	}
}

func TestASwitchNamesItsCases(t *testing.T) {
	g := generator.Switch(
		map[string]generator.Generator{"postgres": renders("p"), "mysql": renders("m")},
		"database",
		"kind",
	)
	for want, parameters := range map[string]map[string]any{
		`parameter database.kind: it is not set; want one of mysql, postgres`:        {},
		`parameter database.kind: there is no "oracle"; want one of mysql, postgres`: {"database": map[string]any{"kind": "oracle"}},
		`parameter database.kind: want a string, one of mysql, postgres`:             {"database": map[string]any{"kind": []any{}}},
		`parameter database: want a map with the key "kind"`:                         {"database": "mysql"},
	} {
		_, err := g.Generate(t.Context(), generator.Request{Parameters: parameters})
		expectError(t, want, err)
	}
}

func TestACompositionStopsWhenItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancels := generator.GeneratorFunc(
		func(context.Context, generator.Request) ([]client.Object, error) { cancel(); return nil, nil },
	)
	never := generator.TransformerFunc(
		func(context.Context, generator.Request, []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
			t.Error("a transformer was called after the context was cancelled")
			return nil, nil
		},
	)
	for _, g := range []generator.Generator{
		generator.Chain(cancels, never),
		generator.Merge(generator.Part{Generator: cancels}, generator.Part{Generator: generator.Chain(renders(), never)}),
		generator.WithParameters(renders(),
			generator.ParameterTransformerFunc(func(context.Context, generator.Request) (map[string]any, error) {
				t.Error("a transformer was called after the context was cancelled")
				return nil, nil
			})),
	} {
		if _, err := g.Generate(ctx, generator.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheVersionOfACompositionIsThatOfAllParts(t *testing.T) {
	v := func(version string) generator.Generator { return versioned{renders(), version} }
	step := func(version string) versionedStep { return versionedStep{version: version} }
	compositions := map[string]func(a, b generator.Generator, c versionedStep) generator.Generator{
		"chain": func(a, _ generator.Generator, c versionedStep) generator.Generator { return generator.Chain(a, c, c) },
		"parameters": func(a, _ generator.Generator, c versionedStep) generator.Generator {
			return generator.WithParameters(a, c)
		},
		"merge": func(a, b generator.Generator, _ versionedStep) generator.Generator {
			return generator.Merge(generator.Part{Generator: a}, generator.Part{Generator: b})
		},
		"switch": func(a, b generator.Generator, _ versionedStep) generator.Generator {
			return generator.Switch(map[string]generator.Generator{"a": a, "b": b}, "c")
		},
	}
	versionOf := func(g generator.Generator) string {
		versioner, ok := g.(generator.Versioner)
		if !ok {
			t.Fatalf("%T does not implement Versioner", g)
		}
		return versioner.Version()
	}
	seen := map[string]string{}
	for name, compose := range compositions {
		version := versionOf(compose(v("1"), v("2"), step("3")))
		if first, twice := seen[version]; version == "" || twice {
			t.Errorf("%s: the version %q is also the version of %s", name, version, first)
		}
		seen[version] = name
		expect(t, version, versionOf(compose(v("1"), v("2"), step("3"))))
		if version == versionOf(compose(v("9"), v("2"), step("3"))) {
			t.Errorf("%s: a new version of its generator does not change its version", name)
		}
		expect(t, "", versionOf(compose(v(""), v("2"), step("3"))))
		expect(t, "", versionOf(compose(renders(), v("2"), step("3"))))
	}
	expect(t, "", versionOf(generator.Chain(v("1"), suffix("-1"))))
	if versionOf(generator.Chain(v("1"), step("3"))) == versionOf(generator.Chain(v("1"), step("4"))) {
		t.Error("a new version of a transformer does not change the version of the chain")
	}
}
