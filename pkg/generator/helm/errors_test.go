package helm_test

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// chartOf returns a chart named demo with the given files.
func chartOf(files map[string]string) fs.FS {
	chart := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: demo\nversion: 0.0.1\n")}}
	for name, text := range files {
		chart[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return chart
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		files      map[string]string
		parameters map[string]any
		options    helm.Options
		want       []string
	}{
		"an empty Chart.yaml": {
			files: map[string]string{"Chart.yaml": ""},
			want:  []string{"load the chart: validation: chart.metadata.name is required"},
		},
		"a library chart renders nothing": {
			files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\ntype: library\n"},
			want:  []string{"chart demo is a library"},
		},
		"a required sub-chart is missing": {
			files: map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\ndependencies: [{name: cache, version: 1.x}]\n",
			},
			want: []string{"chart demo: Chart.yaml requires cache 1.x"},
		},
		"an older target": {
			files: map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\nkubeVersion: '>=9.0.0'\n",
			},
			want: []string{"chart demo: requires Kubernetes >=9.0.0, but the target cluster has v1.37.0"},
		},
		"a template that does not parse": {
			files: map[string]string{"templates/a.yaml": "a: 1\n{{ if }}\n"},
			want:  []string{"demo/templates/a.yaml:2"},
		},
		"a template that fails": {
			files: map[string]string{"templates/a.yaml": "a: 1\n\n{{ required \"say what\" .Values.what }}\n"},
			want:  []string{"demo/templates/a.yaml:3", "say what"},
		},
		"a template that recurses for ever": {
			files: map[string]string{
				"templates/a.yaml": `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`,
			},
			want: []string{"demo/templates/a.yaml:1", "more than 200 levels deep"},
		},
		"rendered text that is not YAML, and a manifest without a name": {
			files: map[string]string{
				"templates/a.yaml": configMap + "data:\n  a: [\n",
				"templates/b.yaml": configMap + "---\n\napiVersion: v1\nkind: ConfigMap\n",
			},
			want: []string{"demo/templates/a.yaml (rendered):", "demo/templates/b.yaml (rendered):7: no metadata.name"},
		},
		"a definition in the folder crds without kind": {
			files: map[string]string{"crds/a.yaml": "apiVersion: v1\nmetadata: {name: a}\n"},
			want:  []string{"demo/crds/a.yaml:1: no kind"},
		},
		"values that break the schemas of chart and sub-chart": {
			files: map[string]string{
				"values.schema.json": `{"properties": {"web": {"properties": {
					"replicas": {"type": "integer"}, "token": {"pattern": "^[0-9]+$"}, "mail": {"minLength": 3}}}}}`,
				"charts/sub/Chart.yaml":         "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
				"charts/sub/values.schema.json": `{"required": ["size"]}`,
			},
			parameters: map[string]any{"web": map[string]any{"replicas": "three", "token": "hunter2", "mail": "x"}},
			want: []string{
				"values.web.replicas: got string, want integer",
				`values.web.token: does not match the pattern "^[0-9]+$"`,
				"values.web.mail: minLength: got 1, want 3",
				"values.sub: missing property 'size'",
			},
		},
		"a schema on the network": {
			files: map[string]string{"values.schema.json": `{"$ref": "https://example.com/schema.json"}`},
			want: []string{
				"demo/values.schema.json", "https://example.com/schema.json: other files and URLs are not read",
				"skipSchema (fairlead: --skip-schema)",
			},
		},
		"a schema in a file of the machine": {
			files: map[string]string{"values.schema.json": `{"properties": {"a": {"$ref": "file:///etc/hostname"}}}`},
			want:  []string{"demo/values.schema.json", "file:///etc/hostname: other files and URLs are not read"},
		},
		"a schema in another file of the chart": {
			files: map[string]string{"values.schema.json": `{"$ref": "other.json"}`, "other.json": "{}"},
			want:  []string{"demo/values.schema.json", "other files and URLs are not read"},
		},
		"a hook without a prefix for its order": {
			files: map[string]string{"templates/a.yaml": configMap + "  annotations: {helm.sh/hook: pre-install}\n"},
			want:  []string{"demo/templates/a.yaml: ConfigMap a is a hook (pre-install)", "Options.AnnotationPrefix"},
		},
		"a rule for ignored files that Helm does not know": {
			files: map[string]string{".helmignore": "a/**\n"},
			want:  []string{".helmignore: double-star"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, chartOf(c.files), c.options, generator.Request{Name: "demo", Parameters: c.parameters})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a value is quoted in:\n%v", err)
			}
		})
	}
}

func TestWhatARequestBringsIsToldFromWhatIsWrongWithTheChart(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		input bool
	}{
		"a value that breaks the schema": {map[string]string{"values.schema.json": `{"required": ["size"]}`}, true},
		"a target of another version": {
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\nkubeVersion: '>=9.0.0'\n"}, true,
		},
		"a template that does not parse": {map[string]string{"templates/a.yaml": "{{ if }}"}, false},
		"rendered text that is not YAML": {map[string]string{"templates/a.yaml": configMap + "data: ["}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, chartOf(test.files), helm.Options{}, generator.Request{Name: "demo"})
			if _, is := errors.AsType[*helm.InputError](err); err == nil || is != test.input {
				t.Errorf("an InputError: %t, want %t; the error: %v", is, test.input, err)
			}
		})
	}
}

func TestWhatTemplatesWroteIsToldFromWhatIsInTheChart(t *testing.T) {
	for name, test := range map[string]struct {
		files    map[string]string
		rendered bool
	}{
		"rendered text that is not YAML": {map[string]string{"templates/a.yaml": configMap + "data: ["}, true},
		"a manifest without a kind": {map[string]string{"templates/a.yaml": "apiVersion: v1\n" +
			"kind: {{ .Values.kind }}\nmetadata: {name: a}\n"}, true},
		"a definition that is not YAML": {map[string]string{"crds/a.yaml": "a: ["}, false},
		"both": {map[string]string{
			"crds/a.yaml":      "a: [",
			"templates/a.yaml": configMap + "data: [",
		}, false},
		"a template that does not parse": {map[string]string{"templates/a.yaml": "{{ if }}"}, false},
		"a template that calls fail":     {map[string]string{"templates/a.yaml": `{{ fail "no" }}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, chartOf(test.files), helm.Options{}, generator.Request{Name: "demo"})
			if _, is := errors.AsType[*helm.RenderedError](err); err == nil || is != test.rendered {
				t.Errorf("a RenderedError: %t, want %t; the error: %v", is, test.rendered, err)
			}
		})
	}
}

func TestErrorsOfSchemasAreTheSameInEachWorkingDirectory(t *testing.T) {
	for name, schema := range map[string]string{
		"an invalid schema":                 `{"type": 1}`,
		"a reference to nothing":            `{"$ref": "#/definitions/none"}`,
		"a reference to another file":       `{"$ref": "other.json"}`,
		"a draft in a local file":           `{"$schema": "draft.json"}`,
		"a relative id":                     `{"$id": "shop.json", "type": 1}`,
		"a reference that refers to itself": `{"$ref": "#"}`,
	} {
		t.Run(name, func(t *testing.T) {
			chart := chartOf(map[string]string{"values.schema.json": schema})
			here := renderOnce(t, chart, helm.Options{}, generator.Request{Name: "demo"})
			t.Chdir(t.TempDir())
			there := renderOnce(t, chart, helm.Options{}, generator.Request{Name: "demo"})
			if here == nil || there == nil || here.Error() != there.Error() {
				t.Errorf("got %v, and elsewhere %v", here, there)
			}
		})
	}
}

func renderOnce(t *testing.T, source fs.FS, options helm.Options, req generator.Request) error {
	t.Helper()
	g, err := helm.New(source, options)
	if err != nil {
		return err
	}
	_, err = g.Generate(t.Context(), req)
	return err
}

func TestEnvironmentIsNotReachable(t *testing.T) {
	for _, function := range []string{`env "HOME"`, `expandenv "$HOME"`} {
		err := renderOnce(
			t,
			chartOf(map[string]string{"templates/a.yaml": "{{ " + function + " }}"}),
			helm.Options{},
			generator.Request{},
		)
		if err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("%s: %v", function, err)
		}
	}
	// Helm provides getHostByName, and the function returns an empty result.
	text := configMap + `data: {address: {{ getHostByName "localhost" | quote }}}`
	g, err := helm.New(chartOf(map[string]string{"templates/a.yaml": text}), helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), generator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if data := dataOf(t, objects[0]); !maps.Equal(data, map[string]string{"address": ""}) {
		t.Errorf("got %v", data)
	}
}
