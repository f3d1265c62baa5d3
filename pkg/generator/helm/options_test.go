package helm_test

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func generate(t *testing.T, source fs.FS, options helm.Options, req generator.Request) []client.Object {
	t.Helper()
	g, err := helm.New(source, options)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := g.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func namesOf(objects []client.Object) []string {
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

func TestRawKeepsHooksAsHelmPrintsThem(t *testing.T) {
	files := map[string]string{"crds/a.yaml": strings.Replace(configMap, "name: a", "name: definition", 1)}
	for _, hook := range []string{
		"pre-install", "post-upgrade", "pre-delete", "post-rollback", "test", "test-success",
		"Pre-Install, test",
	} {
		name := strings.ToLower(strings.ReplaceAll(hook, ", ", "-and-"))
		files["templates/"+name+".yaml"] = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name +
			"\n  annotations: {helm.sh/hook: '" + hook + "'}\n"
	}
	files["templates/unknown.yaml"] = strings.Replace(
		files["templates/test.yaml"],
		"'test'",
		"'pre-install,crd-install'",
		1,
	)
	objects := generate(
		t,
		chartOf(files),
		helm.Options{Raw: true, AnnotationPrefix: "demo.example.io"},
		generator.Request{Revision: 1},
	)
	want := []string{
		"definition",
		"post-rollback",
		"post-upgrade",
		"pre-delete",
		"pre-install-and-test",
		"pre-install",
		"test-success",
		"test",
	}
	if got := namesOf(objects); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, object := range objects[1:] {
		if annotations := object.GetAnnotations(); len(annotations) != 1 {
			t.Errorf("%s: got annotations %v", object.GetName(), annotations)
		}
	}
}

func TestSkipCRDsLeavesOutTheFolderCRDs(t *testing.T) {
	files := map[string]string{
		"crds/a.yaml":      strings.Replace(configMap, "name: a", "name: definition", 1),
		"templates/a.yaml": configMap,
	}
	if got := namesOf(generate(t, chartOf(files), helm.Options{}, generator.Request{})); !slices.Equal(
		got,
		[]string{"definition", "a"},
	) {
		t.Errorf("by default: got %q", got)
	}
	if got := namesOf(generate(t, chartOf(files), helm.Options{SkipCRDs: true}, generator.Request{})); !slices.Equal(
		got,
		[]string{"a"},
	) {
		t.Errorf("got %q", got)
	}
}

func TestHookTimeoutIsTheTimeoutOfHooksThatSetNone(t *testing.T) {
	files := map[string]string{
		"templates/a.yaml":    configMap,
		"templates/hook.yaml": hookObject("batch/v1", "Job", "hook", "post-install", "", ""),
		"templates/own.yaml":  hookObject("batch/v1", "Job", "own", "pre-install", "", ", demo.example.io/timeout: 7m"),
		"templates/last.yaml": hookObject("batch/v1", "Job", "last", "post-delete", "", ""),
		"templates/kept.yaml": hookObject("v1", "Secret", "kept", "pre-install", "", ""),
	}
	base, err := helm.New(chartOf(files), options)
	if err != nil {
		t.Fatal(err)
	}
	timed, err := base.With(func(o *helm.Options) { o.HookTimeout = 90 * time.Second })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		generator generator.Generator
		revision  int64
		want      map[string]string
	}{
		{"no timeout by default", base, 1, map[string]string{"own": "7m"}},
		{"all hooks of an installation", timed, 1, map[string]string{
			"hook": "1m30s", "own": "7m", "last": "1m30s",
			"kept": "1m30s",
		}},
		{"only the hooks that an upgrade runs", timed, 2, map[string]string{"last": "1m30s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, err := c.generator.Generate(t.Context(), generator.Request{Revision: c.revision})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, o := range objects {
				if timeout, ok := o.GetAnnotations()["demo.example.io/timeout"]; ok {
					got[o.GetName()] = timeout
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("got the timeouts %v, want %v", got, c.want)
			}
		})
	}
	if _, err := base.With(func(o *helm.Options) { o.HookTimeout = -time.Second }); err == nil {
		t.Error("With: want an error for a negative timeout")
	}
	if _, err := helm.New(nil, helm.Options{HookTimeout: -time.Second}); err == nil {
		t.Error("New: want an error for a negative timeout")
	}
}

func TestLimits(t *testing.T) {
	many := map[string]string{"templates/a.yaml": `{{ range until 4 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a-{{ . }}}
{{ end }}`}
	aliases := map[string]string{"templates/a.yaml": configMap + "x: [&a [a, a, a, a], *a, *a, *a, *a]\n"}
	cases := map[string]struct {
		files  map[string]string
		limits generator.Limits
		want   string
	}{
		"objects": {many, generator.Limits{Objects: 3}, "the limit of 3 objects is exceeded"},
		"aliases": {aliases, generator.Limits{AliasBytes: 8}, "demo/templates/a.yaml (rendered)"},
		"time":    {many, generator.Limits{Duration: time.Nanosecond}, "longer than the limit of 1ns"},
		"recursion by tpl": {
			map[string]string{
				"values.yaml":      "t: '{{ tpl .Values.t . }}'\n",
				"templates/a.yaml": "\n{{ tpl .Values.t . }}",
			},
			generator.Limits{},
			"demo/templates/a.yaml:2:3: templates are nested more than 200 levels deep",
		},
		"recursion by template": {
			map[string]string{"templates/a.yaml": `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`},
			generator.Limits{Depth: 9},
			"demo/templates/a.yaml:1:57: templates are nested more than 9 levels deep",
		},
		"output": {many, generator.Limits{OutputBytes: 200}, "the templates write more than 200 bytes"},
		"memory": {
			map[string]string{"templates/a.yaml": `{{ repeat 1000000000 "aaaaaaaaaaaa" | len }}`},
			generator.Limits{},
			"the templates write more than",
		},
		"a loop": {
			map[string]string{"templates/a.yaml": `{{ range until 100000000 }}{{ end }}`},
			generator.Limits{},
			"the templates write more than",
		},
		"a map in itself": {
			map[string]string{"templates/a.yaml": `{{ $_ := set .Values "a" .Values }}{{ toYaml .Values }}`},
			generator.Limits{},
			"one of them may contain itself",
		},
		"all limits at their defaults": {many, generator.Limits{}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := renderOnce(t, chartOf(c.files), helm.Options{Limits: c.limits}, generator.Request{})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestAnExhaustedLimitIsReportedOnce(t *testing.T) {
	loop := `{{ range until 1000 }}0123456789{{ end }}`
	files := map[string]string{"templates/a.yaml": loop, "templates/b.yaml": loop}
	err := renderOnce(t, chartOf(files), helm.Options{Limits: generator.Limits{OutputBytes: 5000}}, generator.Request{})
	if err == nil || strings.Count(err.Error(), "the templates write more than") != 1 {
		t.Errorf("want the limit once, got %v", err)
	}
}

func TestTheClockIsThatOfTheRequest(t *testing.T) {
	text := configMap + `data: {now: {{ now | unixEpoch | quote }}}`
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	objects := generate(
		t,
		chartOf(map[string]string{"templates/a.yaml": text}),
		helm.Options{},
		generator.Request{Now: at},
	)
	if got, want := dataOf(t, objects[0])["now"], strconv.FormatInt(at.Unix(), 10); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

func TestNotesAreThoseOfTheChart(t *testing.T) {
	g, err := helm.New(chartOf(map[string]string{
		"templates/NOTES.txt":             "Welcome to {{ .Release.Name }}, revision {{ .Release.Revision }}.",
		"charts/sub/Chart.yaml":           "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
		"charts/sub/templates/NOTES.txt":  "not shown",
		"charts/sub/templates/empty.yaml": "",
	}), helm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := generator.NotesOf(t.Context(), g, generator.Request{Name: "shop", Revision: 3})
	if want := "Welcome to shop, revision 3."; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestADefinitionThatASubChartRepeatsIsRenderedOnce(t *testing.T) {
	definition := func(value string) string {
		return strings.Replace(configMap, "name: a", "name: definition", 1) + "data: {value: " + value + "}\n"
	}
	files := map[string]string{
		"crds/a.yaml":            definition("chart"),
		"charts/sub/Chart.yaml":  "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
		"charts/sub/crds/a.yaml": definition("sub"),
	}
	var told []string
	req := generator.Request{Report: func(r generator.Result) { told = append(told, r.String()) }}
	objects := generate(t, chartOf(files), options, req)
	if len(objects) != 1 || dataOf(t, objects[0])["value"] != "chart" {
		t.Errorf("got %d objects, want the definition of the chart", len(objects))
	}
	if len(told) != 1 || !strings.Contains(told[0], "crds/a.yaml and") || !strings.Contains(told[0],
		"the first one is used") {
		t.Errorf("got the messages %q", told)
	}
	if raw := generate(t, chartOf(files), helm.Options{Raw: true}, req); len(raw) != 2 {
		t.Errorf("raw: got %d objects, want both, as by helm template", len(raw))
	}
}

// TestRawHasTheOrderOfHelmTemplate renders objects and hooks in the reverse of Helm's order of kinds.
func TestRawHasTheOrderOfHelmTemplate(t *testing.T) {
	manifest := func(kind, name, annotations string) string {
		return "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\n"
	}
	const hook = `helm.sh/hook: pre-install, helm.sh/hook-weight: "5"`
	files := map[string]string{
		"crds/z.yaml":      manifest("CustomResourceDefinition", "definition", ""),
		"templates/a.yaml": manifest("Widget", "widget", "") + manifest("Job", "job", ""),
		"templates/b.yaml": manifest("Gadget", "gadget", "") + manifest("Secret", "second", "") + manifest("Secret",
			"first", ""),
		"templates/c.yaml": manifest("Namespace", "namespace", ""),
		"templates/a-hook.yml": manifest("Job", "hook-job", `helm.sh/hook: pre-install, helm.sh/hook-weight: "-5"`) +
			manifest("Secret", "hook-secret", hook),
	}
	objects := generate(t, chartOf(files), helm.Options{Raw: true}, generator.Request{Revision: 1})
	want := []string{"definition", "namespace", "second", "first", "job", "gadget", "widget", "hook-secret", "hook-job"}
	if got := namesOf(objects); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestSkipSchemaRendersWithoutTheSchemas(t *testing.T) {
	for name, schema := range map[string]string{
		"a reference to a URL":   `{"$ref": "https://example.com/schema.json"}`,
		"a schema without sense": `{"type": "unknown"}`,
		"no JSON":                `{`,
		"values that break it":   `{"required": ["size"]}`,
	} {
		for _, file := range []string{"values.schema.json", "charts/sub/values.schema.json"} {
			chart := chartOf(map[string]string{
				"templates/a.yaml": configMap, "charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.0.1\n", file: schema,
			})
			objects := generate(t, chart, helm.Options{SkipSchema: true}, generator.Request{})
			if len(objects) != 1 {
				t.Errorf("%s in %s: got %d objects", name, file, len(objects))
			}
			g, err := helm.New(nil, helm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			req := generator.Request{Source: chart, SourceDigest: "1"}
			if _, err := g.Generate(t.Context(), req); err == nil {
				t.Errorf("%s in %s: the schema is not used", name, file)
			}
			skipping, err := g.With(func(o *helm.Options) { o.SkipSchema = true })
			if err != nil {
				t.Fatal(err)
			}
			if _, err := skipping.Generate(t.Context(), req); err != nil {
				t.Errorf("%s in %s: %v", name, file, err)
			}
		}
	}
}
