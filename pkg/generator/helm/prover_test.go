package helm_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func TestWhatIsProvenOfAChart(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"no functions": {map[string]string{"templates/a.yaml": configMap}, true},
		"values and helpers": {
			map[string]string{"templates/a.yaml": configMap + "data: {{ toYaml .Values | nindent 2 }}\n"},
			true,
		},
		"names of the chart and the release": {map[string]string{
			"templates/a.yaml": configMap + "data: {a: {{ printf \"%s-%s\" .Chart.Name .Release.Name | quote }}}\n",
		}, true},
		"capabilities": {map[string]string{
			"templates/a.yaml": configMap +
				"data: {a: {{ .Capabilities.KubeVersion.Version | quote }}, b: {{ .Capabilities.APIVersions.Has \"v1\" " +
				"| quote }}}\n",
		}, true},
		"files of the chart": {map[string]string{
			"x.txt": "x", "templates/a.yaml": configMap + "data: {{ (.Files.Glob \"*.txt\").AsConfig | nindent 2 }}\n",
		}, true},
		"a definition that holds random text": {map[string]string{
			"crds/a.yaml": configMap + "data: {a: '{{ randAlphaNum 5 }}'}\n",
		}, true},
		"a random value": {map[string]string{
			"templates/a.yaml": configMap + "data: {a: {{ randAlphaNum 5 | quote }}}\n",
		}, false},
		"a random value in a helper": {map[string]string{
			"templates/_a.tpl": `{{ define "a" }}{{ uuidv4 }}{{ end }}`,
			"templates/a.yaml": configMap + "data: {a: {{ include \"a\" . | quote }}}\n",
		}, false},
		"a random value in a sub-chart": {map[string]string{
			"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
			"charts/sub/templates/b.yaml": "{{- $_ := genPrivateKey \"ed25519\" }}",
		}, false},
		"a random value that is not called": {map[string]string{
			"templates/a.yaml": configMap + "data: {a: '{{ if .Values.never }}{{ randAlphaNum 5 }}{{ end }}'}\n",
		}, true},
		"the time": {
			map[string]string{"templates/a.yaml": configMap + "data: {a: {{ now | quote }}}\n"},
			false,
		},
		"a look-up": {map[string]string{"templates/a.yaml": configMap +
			"data: {a: {{ lookup \"v1\" \"Pod\" \"\" \"a\" | len | quote }}}\n"}, false},
		"a chart that is printed": {map[string]string{"templates/a.yaml": configMap +
			"data: {a: {{ .Chart | toString | len | quote }}}\n"}, false},
		"a text that cannot be read": {map[string]string{
			"templates/a.yaml": configMap + "data: {a: {{ (fromYaml \"[\").Error | len | quote }}}\n",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := helm.New(chartOf(c.files), helm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			objects, proven, err := generator.Prove(t.Context(), g, generator.Request{
				Name: "web", Namespace: "shop", Parameters: map[string]any{"a": "b"},
			})
			again, failure := g.Generate(t.Context(), generator.Request{
				Name: "web", Namespace: "shop", Parameters: map[string]any{"a": "b"},
			})
			if err != nil || failure != nil || len(objects) != len(again) || proven != c.want {
				t.Errorf("got %d objects, proven %t, %v; want %d objects, proven %t, %v",
					len(objects), proven, err, len(again), c.want, failure)
			}
		})
	}
}
