package binding_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/internal/binding"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// exporter returns an object that exports the values a, b, c and none.
func exporter(kind string) *unstructured.Unstructured {
	return annotated(kind, "source", nil, "export", "a=self.a, b=self.b, c=self.c, none=self.none")
}

// annotated returns a manifest with settings.
func annotated(kind, name string, content map[string]any, settings ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	maps.Copy(u.Object, content)
	u.SetName(name)
	annotations := map[string]string{}
	for i := 0; i < len(settings); i += 2 {
		annotations[options.Reconciler+"/"+settings[i]] = settings[i+1]
	}
	u.SetAnnotations(annotations)
	return u
}

var bindable = map[string]any{"a": "text", "b": int64(3), "c": map[string]any{"list": []any{true, 1.5}, "nothing": nil}}

// bindTo normalises the object together with an exporter, and binds it.
func bindTo(t *testing.T, source, target *unstructured.Unstructured, values map[string]any) (binding.Bound, error) {
	t.Helper()
	objects, err := normalise.Manifests([]*unstructured.Unstructured{source, target}, options)
	if err != nil {
		return binding.Bound{}, err
	}
	bindings, _ := binding.New(options.Reconciler, objects)
	for _, o := range objects {
		if o.Settings.Binds() {
			return bindings.Bind(t.Context(), o, func(name string) (any, bool) {
				value, known := values[name]
				return value, known
			})
		}
	}
	return binding.Bound{}, errors.New("no object with holes")
}

func TestBind(t *testing.T) {
	for text, want := range map[string]any{
		"no hole":                          "no hole",
		"$HOME ${HOME} $(x) {{ x }} }}":    "$HOME ${HOME} $(x) {{ x }} }}",
		"${{ a }}":                         "text",
		"${{a}}":                           "text",
		"${{ b }}":                         int64(3),
		"${{ b }} ":                        "3 ",
		"x-${{ a }}-${{ b }}-${{ b > 2 }}": "x-text-3-true",
		"${{ c }}":                         bindable["c"],
		"${{ c.list[1] }}":                 1.5,
		"${{ c.list[1] }}.":                "1.5.",
		"${{ {'x': {'y': a}} }}":           map[string]any{"x": map[string]any{"y": "text"}},
		"${{ '}}' + a }}":                  "}}text",
		`${{ "it's }}" }}`:                 "it's }}",
		"${{ '${{' }} a }}":                "${{ a }}",
		"${{ a + '${{ b }}' }}":            "text${{ b }}",
		"${{ b / 2.0 }}":                   "error: no such overload",
		"${{ c.other }}":                   "not yet",
		"x${{ c.nothing }}":                "not yet",
		"${{ c.nothing }}":                 "not yet",
		"x${{ c }}":                        "error: the value is a list or an object",
		"${{ none }}":                      "missing: none",
		"${{ a }} ${{ none }}":             "missing: none",
		"${{ true || none }}":              "missing: none",
		"${{ nobody }}":                    "error: undeclared reference to 'nobody'",
		"${{ a":                            "error: is not closed by }}",
		"${{ 'a }}":                        "error: the quote ' in the hole",
		"${{ }}":                           "error: the expression is empty",
		strings.Repeat("${{ a }}", 300):    "error: it has more than 256 holes",
		strings.Repeat("a${{ a }}", 256):   strings.Repeat("atext", 256),
		strings.Repeat("${{ a }}", 257):    "error: it has more than 256 holes",
	} {
		bound, err := bindTo(t, exporter("ConfigMap"),
			annotated("Pod", "target", map[string]any{"spec": map[string]any{"x": []any{text}}}, "bind", "true"), bindable)
		var got any
		switch {
		case errors.Is(err, binding.ErrNotYet):
			got = "not yet"
		case err != nil:
			got = "error: " + err.Error()
		case len(bound.Missing) > 0:
			got = "missing: " + strings.Join(bound.Missing, ", ")
		default:
			list, _, _ := unstructured.NestedSlice(bound.Object.Body.Object, "spec", "x")
			got = list[0]
		}
		if expected, fails := want.(string); fails && strings.HasPrefix(expected, "error: ") {
			if text, ok := got.(string); !ok || !strings.HasPrefix(text, "error: ") || !strings.Contains(text,
				expected[len("error: "):]) {
				t.Errorf("%.60q: got %v, want %v", text, got, want)
			}
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.60q: got %#v, want %#v", text, got, want)
		}
	}
}

func TestBindTexts(t *testing.T) {
	target := annotated("Secret", "target", map[string]any{
		"stringData": map[string]any{"port": "${{ b }}"},
		"data":       map[string]any{"url": base64.StdEncoding.EncodeToString([]byte("x:${{ a }}")), "other": "AP8="},
	}, "bind", "true")
	target.SetLabels(map[string]string{"port": "${{ b }}"})
	bound, err := bindTo(t, exporter("ConfigMap"), target, bindable)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"port": "Mw==", "url": base64.StdEncoding.EncodeToString([]byte("x:text")), "other": "AP8="}
	if got := bound.Object.Body.Object["data"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := bound.Object.Body.GetLabels()["port"]; got != "3" {
		t.Errorf("the label is %q", got)
	}
	bound, err = bindTo(t, exporter("ConfigMap"),
		annotated("ConfigMap", "target", map[string]any{"data": map[string]any{"port": "${{ b }}"}}, "bind", "true"),
		bindable)
	if got, _, _ := unstructured.NestedString(bound.Object.Body.Object, "data", "port"); err != nil || got != "3" {
		t.Errorf("the data is %q, and the error %v", got, err)
	}
}

func TestBindTextsOfPods(t *testing.T) {
	const hole, other = "${{ b }}", "${{ b }}0"
	containers := []any{map[string]any{
		"command": []any{hole}, "args": []any{"x", hole}, "workingDir": other,
		"env":   []any{map[string]any{"name": "B", "value": hole}},
		"ports": []any{map[string]any{"containerPort": hole}},
	}}
	target := annotated("Workload", "target", map[string]any{"spec": map[string]any{
		"replicas": hole, "env": []any{map[string]any{"value": hole}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"b": hole}, "annotations": map[string]any{"b": hole}},
			"spec":     map[string]any{"containers": containers, "initContainers": containers},
		},
	}}, "bind", "true")
	bound, err := bindTo(t, exporter("ConfigMap"), target, bindable)
	if err != nil {
		t.Fatal(err)
	}
	wantContainers := []any{map[string]any{
		"command": []any{"3"}, "args": []any{"x", "3"}, "workingDir": "30",
		"env":   []any{map[string]any{"name": "B", "value": "3"}},
		"ports": []any{map[string]any{"containerPort": int64(3)}},
	}}
	want := map[string]any{
		"replicas": int64(3), "env": []any{map[string]any{"value": int64(3)}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"b": "3"}, "annotations": map[string]any{"b": "3"}},
			"spec":     map[string]any{"containers": wantContainers, "initContainers": wantContainers},
		},
	}
	if got := bound.Object.Body.Object["spec"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestErrorsOfSecretsHaveNoValues(t *testing.T) {
	target := annotated("Secret", "target", map[string]any{"stringData": map[string]any{"x": "${{ int(a) }}"}},
		"bind", "true")
	_, err := bindTo(t, exporter("Secret"), target, map[string]any{"a": "hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "its expression failed") {
		t.Errorf("got the error %v", err)
	}
	for _, place := range []string{"labels", "annotations"} {
		shown := annotated("Secret", "target", nil, "bind", "true")
		if err := unstructured.SetNestedField(shown.Object, "${{ a }}", "metadata", place, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := bindTo(t, exporter("Secret"), shown, bindable); err == nil ||
			!strings.Contains(err.Error(), "metadata."+place+".x: a is a value of Secret shop/source") {
			t.Errorf("%s: got the error %v", place, err)
		}
	}
	target.SetKind("ConfigMap")
	target.Object["data"] = target.Object["stringData"]
	if _, err := bindTo(t, exporter("Secret"), target, bindable); err == nil ||
		!strings.Contains(err.Error(),
			"a is a value of Secret shop/source, and values of Secrets can be bound into the data of Secrets only") {
		t.Errorf("got the error %v", err)
	}
}

func TestErrorsOfSecretsDoNotQuoteTheirText(t *testing.T) {
	for text, want := range map[string]string{
		"${{ a }} ${{ hunter2":                   "data.x: hole 2 of the text is not valid",
		"${{ 'hunter2 }}":                        "data.x: hole 1 of the text is not valid",
		"${{ hunter2( }}":                        "data.x: hole 1 of the text is not valid",
		"${{ 'hunter2' + nobody }}":              "; the exports are a, b, c, none",
		"${{ a.hunter2 }}":                       "data.x: it has no value yet",
		"${{ {'hunter2': a}['x'] + 'hunter2' }}": "data.x: it has no value yet",
		"${{ {'hunter2': a} }} hunter2":          "data.x: a hole has no value",
		strings.Repeat("${{ a }}", 300):          "it has more than 256 holes",
	} {
		content := map[string]any{"stringData": map[string]any{"x": text}}
		_, err := bindTo(t, exporter("Secret"), annotated("Secret", "target", content, "bind", "true"),
			map[string]any{"a": map[string]any{"hunter2": nil}})
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got the error %v, want %q", text, err, want)
		}
	}
}

func TestDigestsOfBoundObjects(t *testing.T) {
	target := func(text string) *unstructured.Unstructured {
		return annotated("ConfigMap", "target", map[string]any{"data": map[string]any{"x": text}}, "bind", "true")
	}
	digest := func(text string, value any) string {
		bound, err := bindTo(t, exporter("ConfigMap"), target(text), map[string]any{"a": value})
		if err != nil {
			t.Fatal(err)
		}
		if got := bound.Object.Body.GetAnnotations()[options.Reconciler+"/digest"]; got != bound.Object.Digest {
			t.Errorf("the annotation is %q, the digest %q", got, bound.Object.Digest)
		}
		return bound.Object.Digest
	}
	first, again, other, changed := digest("${{ a }}", "1"), digest("${{ a }}", "1"), digest("${{ a }}", "2"),
		digest("x${{ a }}", "1")
	if first != again || first == other || first == changed {
		t.Errorf("got %s, %s, %s, %s", first, again, other, changed)
	}
	if digests.Template(first) != digests.Template(other) || digests.Template(first) == digests.Template(changed) {
		t.Errorf("the templates are %s, %s, %s", digests.Template(first), digests.Template(other), digests.Template(changed))
	}
	if digests.SameContent(first, other) || digests.Template("abc.def") != "abc.def" {
		t.Error("other values are other content, and an object without holes is its own template")
	}
}

func TestContradictionsOfBindings(t *testing.T) {
	for name, c := range map[string]struct {
		objects []*unstructured.Unstructured
		want    string
	}{
		"an export name is used twice": {
			[]*unstructured.Unstructured{exporter("ConfigMap"), annotated("Pod", "other", nil, "export", "a=self.a")},
			"export names are unique in a component",
		},
		"a hole waits for a later wave": {
			[]*unstructured.Unstructured{
				annotated("Pod", "other", nil, "export", "a=self.a", "order", "1"),
				hole("x", "${{ a }}"),
			},
			"it waits for a of Pod shop/other, whose order 1 is after its own order 0",
		},
		"an object binds its own value": {
			[]*unstructured.Unstructured{annotated("ConfigMap", "x", map[string]any{"data": map[string]any{"x": "${{ a }}"}},
				"bind", "true", "export", "a=self.a")},
			"ConfigMap shop/x needs ConfigMap shop/x",
		},
		"the identity has a hole": {
			[]*unstructured.Unstructured{exporter("ConfigMap"), annotated("Pod", "${{ a }}", nil, "bind", "true")},
			"the identity and the settings of an object cannot have holes",
		},
		"an observed object has other fields": {
			[]*unstructured.Unstructured{annotated("Pod", "x", map[string]any{
				"spec":   map[string]any{},
				"status": map[string]any{},
			}, "reconcile-policy", "observe")},
			"but no spec, status",
		},
		"an observed object has settings for writes": {
			[]*unstructured.Unstructured{annotated("Pod", "x", nil, "reconcile-policy", "observe", "purge-order", "1")},
			"purge-order: has no effect on an object with reconcile-policy observe",
		},
		"an observed object belongs to a phase": {
			[]*unstructured.Unstructured{annotated("Pod", "x", nil, "reconcile-policy", "observe", "phase", "pre-delete")},
			"is only read while the component is applied",
		},
		"an object with several orders exports values": {
			[]*unstructured.Unstructured{annotated("Pod", "x", nil, "export", "a=self.a", "order", "1,2", "update-policy",
				"recreate")},
			"must be rendered once, with one order",
		},
		"an object that is purged exports values": {
			[]*unstructured.Unstructured{annotated("Pod", "x", nil, "export", "a=self.a", "purge-order", "1")},
			"export: has no values after the object is purged, because of purge-order",
		},
		"an object of a phase has holes": {
			[]*unstructured.Unstructured{annotated("Pod", "x", nil, "bind", "true", "phase", "post-delete")},
			"bind: has no effect in the phase post-delete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := normalise.Manifests(c.objects, options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
		})
	}
}

// hole returns a ConfigMap with holes.
func hole(name, text string) *unstructured.Unstructured {
	return annotated("ConfigMap", name, map[string]any{"data": map[string]any{"x": text}}, "bind", "true")
}

// A text without holes must not change. A bound text must not depend on values that it does not use. Texts that are not
// UTF-8 are skipped, because JSON cannot represent them.
func FuzzHoles(f *testing.F) {
	for _, seed := range []string{
		"x${{ a }}y", "${{ {'a': '}}'} }}", "${{ r'\\' }}", "${{", "}}${{a}}${{ b }}",
		"${{ c.list }}",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		target := hole("target", text)
		first, firstErr := bindTo(t, exporter("ConfigMap"), target, bindable)
		second, secondErr := bindTo(t, exporter("ConfigMap"), target, bindable)
		if fmt.Sprint(firstErr) != fmt.Sprint(secondErr) || first.Object.Digest != second.Object.Digest {
			t.Errorf("got %v, then %v", firstErr, secondErr)
		}
		if firstErr != nil || len(first.Missing) > 0 || strings.Contains(text, "${{") {
			return
		}
		if got, _, _ := unstructured.NestedString(first.Object.Body.Object, "data", "x"); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// exporting returns the settings of an object with exports of these names.
func exporting(names ...string) manifests.Settings {
	rare := &manifests.RareSettings{}
	for _, name := range names {
		rare.Exports = append(rare.Exports, manifests.Export{Name: name})
	}
	return manifests.Settings{Rare: rare}
}

func TestCheckPublished(t *testing.T) {
	objects := []manifests.Object{
		{
			Key:      manifests.Key{Kind: "Service", Namespace: "n", Name: "db"},
			Settings: exporting("host", "port"),
		},
		{
			Key:      manifests.Key{Kind: "Secret", Namespace: "n", Name: "db"},
			Settings: exporting("password"),
		},
	}
	many := strings.Split(strings.Repeat("host,", binding.MaxPublishedNames), ",")
	for _, c := range []struct {
		names   []string
		objects []manifests.Object
		want    string
	}{
		{nil, objects, ""},
		{[]string{"port", "host"}, objects, ""},
		{[]string{"hsot"}, objects, `"hsot", but none of its manifests exports it; the exports are host, password, port`},
		{[]string{"host"}, nil, `"host", but none of its manifests exports it`},
		{[]string{"password"}, objects, "export password of Secret n/db, but values of Secrets are never published"},
		{many, objects, "publishes 65 exports, more than 64"},
	} {
		err := binding.CheckPublished(c.names, c.objects)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want an error that ends with %q", c.names, err, c.want)
		}
	}
}
