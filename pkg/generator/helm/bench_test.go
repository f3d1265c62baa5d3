package helm

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// benchmarkChart returns a chart with 40 typical templates, helpers, a sub-chart, hooks and a schema.
func benchmarkChart() fs.FS {
	files := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: bench\nversion: 1.0.0\n" +
			"dependencies: [{name: sub, version: '*', condition: sub.enabled}]\n",
		"values.yaml": "replicas: 2\nimage: {repository: registry.example.com/app, tag: v1}\n" +
			"sub: {enabled: true}\nlabels: {team: a, tier: b}\nresources: {limits: {cpu: 1, memory: 1Gi}}\n",
		"values.schema.json": `{"type": "object", "properties": {"replicas": {"type": "integer"}}}`,
		"templates/_helpers.tpl": `{{ define "labels" }}app.kubernetes.io/name: {{ .Chart.Name }}` + "\n" +
			`app.kubernetes.io/instance: {{ .Release.Name }}{{ range $k, $v := .Values.labels }}` + "\n" +
			`{{ $k }}: {{ $v | quote }}{{ end }}{{ end }}`,
		"templates/NOTES.txt":   "Welcome to {{ .Release.Name }}.\n",
		"charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
	}
	const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-%[1]d
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "%[1]d"}}
  template:
    metadata:
      labels: {{- include "labels" . | nindent 8 }}
        app: "%[1]d"
    spec:
      containers:
      - name: main
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
        {{- with .Values.resources }}
        resources: {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- if gt (int .Values.replicas) 1 }}
        env: [{name: REPLICAS, value: {{ .Values.replicas | quote }}}]
        {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-%[1]d", annotations: {checksum: {{ toJson .Values | sha256sum }}}}
data: {a: b}
`
	for i := range 40 {
		files[fmt.Sprintf("templates/d%d.yaml", i)] = fmt.Sprintf(deployment, i)
	}
	files["charts/sub/templates/job.yaml"] = "apiVersion: batch/v1\nkind: Job\n" +
		"metadata: {name: migrate, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\nspec: {}\n"
	chart := fstest.MapFS{}
	for name, text := range files {
		chart[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return chart
}

var benchmarkRequest = generator.Request{
	Name:       "shop",
	Namespace:  "shop",
	Revision:   2,
	Parameters: map[string]any{"replicas": int64(3)},
}

// BenchmarkAgainstHelm measures alternately the engine, from the request to the objects, and Helm's library alone on a
// chart that is parsed already. time-ratio and allocs-ratio are the costs of the engine divided by those of Helm.
func BenchmarkAgainstHelm(b *testing.B) {
	g, err := New(benchmarkChart(), Options{AnnotationPrefix: "bench.example.io"})
	if err != nil {
		b.Fatal(err)
	}
	parsed, err := parseChart(benchmarkChart())
	if err != nil {
		b.Fatal(err)
	}
	var ours, theirs cost
	for b.Loop() {
		ours.add(b, func() error {
			_, err := g.Generate(context.Background(), benchmarkRequest)
			return err
		})
		theirs.add(b, func() error { return renderWithHelm(parsed) })
	}
	b.ReportMetric(float64(ours.time.Microseconds())/float64(b.N), "fairlead-µs/op")
	b.ReportMetric(float64(theirs.time.Microseconds())/float64(b.N), "helm-µs/op")
	b.ReportMetric(float64(ours.allocs)/float64(b.N), "fairlead-allocs/op")
	b.ReportMetric(float64(theirs.allocs)/float64(b.N), "helm-allocs/op")
	b.ReportMetric(float64(ours.time)/float64(theirs.time), "time-ratio")
	b.ReportMetric(float64(ours.allocs)/float64(theirs.allocs), "allocs-ratio")
}

// cost is the accumulated cost of renderings.
type cost struct {
	time   time.Duration
	allocs uint64
}

func (c *cost) add(b *testing.B, render func() error) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	if err := render(); err != nil {
		b.Fatal(err)
	}
	c.time += time.Since(start)
	runtime.ReadMemStats(&after)
	c.allocs += after.Mallocs - before.Mallocs
}

// renderWithHelm renders like helm template, and decodes the manifests. Helm changes a chart while it renders, so each
// rendering uses a copy.
func renderWithHelm(parsed *parsedChart) error {
	working := copyChart(parsed.chart)
	parameters := valuesOf(benchmarkRequest.Parameters)
	if err := chartutil.ProcessDependenciesWithMerge(working, parameters); err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "shop", Namespace: "shop", Revision: 2, IsUpgrade: true}
	values, err := chartutil.ToRenderValues(working, parameters, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(working, values)
	if err != nil {
		return err
	}
	delete(rendered, "bench/templates/NOTES.txt")
	hooks, sorted, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		sorted = append(sorted, releaseutil.Manifest{Content: h.Manifest})
	}
	for _, manifest := range sorted {
		if err := yaml.Unmarshal([]byte(manifest.Content), &unstructured.Unstructured{}); err != nil {
			return err
		}
	}
	return nil
}
