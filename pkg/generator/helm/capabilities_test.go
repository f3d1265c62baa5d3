package helm_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// A chart depends on the API versions that its templates ask for by Has. Any other use of .Capabilities.APIVersions
// depends on all versions.
func TestTemplatesDependOnTheAPIVersionsThatTheyAskFor(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		asked            []string
	}{
		{"no question", `{{ .Release.Name }}`, "web", nil},
		{"the version of Kubernetes", `{{ .Capabilities.KubeVersion.GitVersion }}`, "v1.36.3", nil},
		{"the version of Helm", `{{ kindOf .Capabilities.HelmVersion.Version }}`, "string", nil},
		{"a version", `{{ .Capabilities.APIVersions.Has "apps/v1" }}`, "true", []string{"apps/v1"}},
		{"a version in the root", `{{ $.Capabilities.APIVersions.Has "apps/v2" }}`, "false", []string{"apps/v2"}},
		{
			"a version in a condition", `{{ if (and true (.Capabilities.APIVersions.Has "a/v1" | not)) }}no{{ end }}`, "no",
			[]string{"a/v1"},
		},
		{
			"a version in another template",
			`{{ define "x" }}{{ .context.Capabilities.APIVersions.Has .version }}{{ end -}}
{{ include "x" (dict "context" . "version" "v1") }}`,
			"true",
			[]string{"v1"},
		},
		{
			"a version of a result", `{{ (dict "x" .).x.Capabilities.APIVersions.Has "v1/Pod" }}`, "true",
			[]string{"v1/Pod"},
		},
		{
			"a version in a text of a value", `{{ tpl "{{ .Capabilities.APIVersions.Has \"v1\" }}" . }}`, "true",
			[]string{"v1"},
		},
		{"a version as the result of a pipeline", `{{ "v1" | .Capabilities.APIVersions.Has }}`, "true", []string{"v1"}},
		{
			"a version of capabilities in a variable",
			`{{ $c := (.helm).Capabilities | default .Capabilities }}{{ $c.APIVersions.Has "v1" }}`,
			"true",
			[]string{"v1"},
		},
		{
			"a version of capabilities as the root", `{{ with .Capabilities }}{{ .APIVersions.Has "v1" }}{{ end }}`, "true",
			[]string{"v1"},
		},
		{"the list in a variable", `{{ $v := .Capabilities.APIVersions }}{{ $v.Has "v1" }}`, "true", []string{""}},
		{"an item", `{{ has "apps/v1" .Capabilities.APIVersions }}`, "true", []string{""}},
		{"all items", `{{ range .Capabilities.APIVersions }}{{ . }} {{ end }}`, "apps/v1 v1 v1/Pod ", []string{""}},
		{
			"the capabilities as JSON", `{{ (.Capabilities | toJson | fromJson).APIVersions | join " " }}`, "apps/v1 v1 v1/Pod",
			[]string{""},
		},
		{
			"the capabilities as text", `{{ contains "[apps/v1 v1 v1/Pod]" (printf "%v" .Capabilities) }}`, "true",
			[]string{""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := map[string]bool{}
			objects, err := newGenerator(t, c.text).Generate(t.Context(), requestOf(asked))
			if err != nil {
				t.Fatal(err)
			}
			var rendered corev1.ConfigMap
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(objects[0])
			if err == nil {
				err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &rendered)
			}
			if err != nil {
				t.Fatal(err)
			}
			text := rendered.Data["text"]
			if strings.TrimSpace(text) != strings.TrimSpace(c.want) {
				t.Errorf("got the text %q, want %q", text, c.want)
			}
			got := make([]string, 0, len(asked))
			for version := range asked {
				got = append(got, version)
			}
			if !slices.Equal(got, c.asked) {
				t.Errorf("got the questions %q, want %q", got, c.asked)
			}
		})
	}
}

func newGenerator(t *testing.T, text string) *helm.Generator {
	t.Helper()
	g, err := helm.New(fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"templates/cm.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    " +
			text)},
	}, helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func requestOf(asked map[string]bool) generator.Request {
	req := generator.Request{Name: "web", Namespace: "shop", Revision: 1}
	req.Capabilities.Version.GitVersion = "v1.36.3"
	req.Capabilities.APIVersions = generator.NewAPIVersions("v1", "v1/Pod", "apps/v1").
		OnAsk(func(version string) { asked[version] = true })
	return req
}
