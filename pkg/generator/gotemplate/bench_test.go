package gotemplate_test

import (
	"bytes"
	"fmt"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/gotemplate"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/versus"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The templates are typical for a component of an operator: helpers, loops, and values written as YAML.
const (
	helpers = `{{ define "labels" }}app: {{ .Name }}
part: {{ .Values.part | default "none" | quote }}
{{- end }}
{{ define "image" }}{{ .registry }}/{{ .name }}:{{ .tag | default "latest" }}{{ end }}`
	workload = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Name }}-%[1]d
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Name | quote }}}}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
    spec:
      containers:
      {{- range $i, $c := .Values.containers }}
      - name: c{{ $i }}-{{ $c.name }}
        image: {{ include "image" $c }}
        env:
        {{- range $key := keys $c.env | sortAlpha }}
        - name: {{ $key | upper }}
          value: {{ get $c.env $key | quote }}
        {{- end }}
        resources: {{- toYaml $c.resources | nindent 10 }}
      {{- end }}
`
)

func benchmarkInput() (map[string]string, map[string]any) {
	files := map[string]string{"_helpers.tpl": helpers}
	for i := range 20 {
		files[fmt.Sprintf("workload-%02d.yaml", i)] = fmt.Sprintf(workload, i)
	}
	container := func(name string) any {
		return map[string]any{
			"registry": "registry.example.com", "name": name, "tag": "1.2.3",
			"env": map[string]any{"level": "info", "endpoint": "http://collector:4317", "region": "eu-1"},
			"resources": map[string]any{
				"requests": map[string]any{"cpu": "100m", "memory": "128Mi"},
				"limits":   map[string]any{"memory": "256Mi"},
			},
		}
	}
	return files, map[string]any{
		"replicas":   int64(3),
		"part":       "shop",
		"containers": []any{container("web"), container("proxy")},
	}
}

// BenchmarkGenerate compares the engine with text/template, sprig and the decoder alone.
func BenchmarkGenerate(b *testing.B) {
	files, values := benchmarkInput()
	g, err := gotemplate.New(sourceOf(files), gotemplate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	engine := func() error {
		_, err := g.Generate(b.Context(), generator.Request{Name: "demo", Parameters: values})
		return err
	}
	render := bare(b, files)
	versus.Compare(b, engine, func() error { return render(map[string]any{"Name": "demo", "Values": values}) })
}

// bare returns a function that renders the files with the libraries alone.
func bare(b *testing.B, files map[string]string) func(data any) error {
	b.Helper()
	group := template.New("").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data any) (string, error) {
		var text bytes.Buffer
		err := group.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["toYaml"] = func(value any) (string, error) {
		text, err := yaml.Marshal(value)
		return string(bytes.TrimSuffix(text, []byte("\n"))), err
	}
	group.Funcs(functions)
	for name, text := range files {
		if _, err := group.New(name).Parse(text); err != nil {
			b.Fatal(err)
		}
	}
	return func(data any) error {
		for name := range files {
			var text bytes.Buffer
			if err := group.ExecuteTemplate(&text, name, data); err != nil {
				return err
			}
			if _, err := manifests.Decode(name, text.Bytes()); err != nil {
				return err
			}
		}
		return nil
	}
}
