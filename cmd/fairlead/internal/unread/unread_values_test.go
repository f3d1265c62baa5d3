package unread_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/unread"
)

func treeOf(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"

func TestValuesThatNothingReads(t *testing.T) {
	chart := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n" +
			"dependencies: [{name: sub, version: '*', condition: subOn.enabled, alias: other}]\n",
		"README.md":          "replicasCount",
		"values.yaml":        "replicaCount: 1\nimage: {tag: a}\nlabels: {team: x}\nfeature: {}\n# debug: true\n",
		"values.schema.json": `{"properties": {"onlyInSchema": {}}}`,
		"templates/a.yaml": configMap + "  count: '{{ .Values.replicaCount }}{{ .Values.image.tag }}'\n" +
			"{{- toYaml .Values.labels | nindent 2 }}\n  text: {{ tpl (.Values.text | default \"\") . | quote }}\n" +
			"  {{- range $k, $v := .Values.feature }}\n  {{ $k }}: {{ $v }}\n  {{- end }}\n" +
			"  {{- if .Values.rare }}\n  rare: {{ index .Values \"ra-re\" }}\n  {{- end }}\n",
		"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
		"charts/sub/values.yaml":      "size: 1\n",
		"charts/sub/templates/b.yaml": "{{- if .Values.global.zone }}\n" + configMap + "  zone: x\n{{- end }}\n",
	}
	for name, c := range map[string]struct {
		values string
		want   []string
	}{
		"nothing":                    {"{}", nil},
		"values with defaults":       {"{replicaCount: 1, image: {tag: a}, labels: {team: x}}", nil},
		"a misspelt name":            {"{replicasCount: 5}", []string{"replicasCount"}},
		"a misspelt name in a map":   {"{image: {tga: b, tag: c}}", []string{"image.tga"}},
		"a part of a longer name":    {"{replica: 5}", []string{"replica"}},
		"a map that is used whole":   {"{labels: {more: x}}", nil},
		"a map that is ranged over":  {"{feature: {anything: x}}", nil},
		"a text that is a template":  {"{text: '{{ .Values.hidden }}', hidden: b}", nil},
		"a name in a comment":        {"{debug: true}", nil},
		"a name in the schema":       {"{onlyInSchema: 1}", nil},
		"a name with a hyphen":       {"{ra-re: 1}", nil},
		"a condition of a sub-chart": {"{subOn: {enabled: false}}", nil},
		"values of a sub-chart":      {"{other: {size: 2, sise: 3}}", []string{"other.sise"}},
		"a global value":             {"{global: {zone: a, zoen: b}}", []string{"global.zoen"}},
		"one of two":                 {"{labels: {more: x}, nothing: {a: 1}}", []string{"nothing"}},
		"values that do not render":  {"{replicasCount: 5, text: '{{'}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			if err := yaml.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			req := render.Request{Source: treeOf(chart), Namespace: "default", Name: "c", Values: values}
			if got := unread.Values(t.Context(), req); !slices.Equal(got, c.want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTemplatesWithoutChart(t *testing.T) {
	tree := treeOf(map[string]string{"a.yaml": configMap + "  b: {{ .Values.size }}\n"})
	req := render.Request{Source: tree, Namespace: "default", Name: "c", Values: map[string]any{"size": "1", "sise": "2"}}
	if got := unread.Values(t.Context(), req); !slices.Equal(got, []string{"sise"}) {
		t.Errorf("got %v", got)
	}
}

// TestDefaultsOfChartsAreRead needs charts: CHARTS is a pattern of their folders.
func TestDefaultsOfChartsAreRead(t *testing.T) {
	folders, err := filepath.Glob(os.Getenv("CHARTS"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		t.Skip("CHARTS names no folder")
	}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
		if err != nil {
			continue
		}
		values := map[string]any{}
		if err := yaml.Unmarshal(text, &values); err != nil {
			t.Fatal(err)
		}
		req := render.Request{Source: os.DirFS(folder), Namespace: "default", Name: "c", Values: values}
		if got := unread.Values(t.Context(), req); len(got) > 0 {
			t.Errorf("%s: %v", folder, got)
		}
	}
}
