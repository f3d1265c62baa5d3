package helm

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
	packedsource "github.com/fairlead-io/fairlead/pkg/source"
)

// renderAny renders a chart that may be invalid. It fails the test if the rendering panics, or returns objects together
// with an error.
func renderAny(t *testing.T, chart fs.FS) {
	t.Helper()
	g, err := New(chart, Options{
		AnnotationPrefix: "fairlead.io", Limits: generator.Limits{OutputBytes: 1 << 16, Duration: 5 * time.Second},
	})
	if err != nil {
		return
	}
	request := generator.Request{Name: "a", Namespace: "b", Parameters: map[string]any{"a": int64(1)}}
	objects, err := g.Generate(t.Context(), request)
	if err != nil && (objects != nil || strings.Contains(err.Error(), "panicked")) {
		t.Errorf("got %v, %v", objects, err)
	}
}

// The files of a chart are texts of a tenant.
func FuzzChart(f *testing.F) {
	const metadata = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
	f.Add(metadata, "a: {b: [1]}\n", "kind: A\napiVersion: v1\nmetadata: {name: '{{ .Values.a.b | first }}'}\n", "")
	f.Add(metadata+"dependencies: [{name: b, condition: a, import-values: [{child: a, parent: b}]}]\n", "a: true", "",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}")
	f.Add("apiVersion: v1\nname: a\nkubeVersion: '>= 1'\n", "global: {a: &a [1], b: *a}",
		`{{ .Files.Get "a" | fromYaml }}`, "-")
	f.Add(metadata, "", "{{ tpl .Values.a . }}\n---\nmetadata: {annotations: {helm.sh/hook: 'pre-install,test', "+
		"helm.sh/hook-weight: '-5', helm.sh/hook-delete-policy: x}}", "a: [")
	f.Add(metadata+"type: library\n", "a: {<<: {b: c}}",
		`{{- define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "")
	fuzzing.Run(f, func(t *testing.T, metadata, values, template, definition string) {
		renderAny(t, fstest.MapFS{
			"Chart.yaml":            {Data: []byte(metadata)},
			"values.yaml":           {Data: []byte(values)},
			"templates/a.yaml":      {Data: []byte(template)},
			"crds/a.yaml":           {Data: []byte(definition)},
			"charts/b/Chart.yaml":   {Data: []byte("apiVersion: v2\nname: b\nversion: 1.0.0\n")},
			"charts/b/values.yaml":  {Data: []byte(values)},
			"charts/b/templates/_a": {Data: []byte(template)},
		})
	})
}

// Archives are sources, and sub-charts of charts.
func FuzzArchive(f *testing.F) {
	inner := archiveOf(f, "templates/a.yaml", "{{ .Chart.Name }}")
	f.Add(inner)
	f.Add(archiveOf(f, "charts/a.tgz", string(inner), "values.yaml", "a: b"))
	f.Add(archiveOf(f, "../a", "", "/a", "", "charts/b/c/Chart.yaml", "a", ".helmignore", "*"))
	fuzzing.Run(f, func(t *testing.T, archive []byte) {
		renderAny(t, fstest.MapFS{
			"Chart.yaml":   {Data: []byte("apiVersion: v2\nname: b\nversion: 1.0.0\n")},
			"charts/a.tgz": {Data: archive},
		})
		unpacked, err := packedsource.Unpack(archive, packedsource.Limits{
			Entries: 50, FileBytes: 1 << 16,
			TotalBytes: 1 << 18,
		})
		if err != nil {
			return
		}
		if chart, err := fs.Sub(unpacked, "a"); err == nil {
			renderAny(t, chart)
		}
	})
}
