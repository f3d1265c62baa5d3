package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

const chartFile = "apiVersion: v2\nname: %s\nversion: 1.0.0\n"

// archiveOf returns an archive of the chart a. The arguments are names and contents of files, in turn.
func archiveOf(t testing.TB, files ...string) []byte {
	t.Helper()
	const name = "a"
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	tarred := tar.NewWriter(zipped)
	files = append(files, "Chart.yaml", fmt.Sprintf(chartFile, name))
	for i := 0; i < len(files); i += 2 {
		header := &tar.Header{Name: name + "/" + files[i], Mode: 0o600, Size: int64(len(files[i+1])), Typeflag: tar.TypeReg}
		if err := tarred.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := tarred.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tarred.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestChartsThatWouldHurtTheOperatorEnd(t *testing.T) {
	const (
		nested = "nest more than 1000 deep"
		many   = "more than 200000 maps, lists, values and keys"
	)
	inner := archiveOf(t)
	for range 11 {
		inner = archiveOf(t, "charts/a.tgz", string(inner))
	}
	large := string(archiveOf(t, "a.txt", strings.Repeat("a", 4<<20)))
	archives := map[string]string{}
	for i := range 30 {
		archives[fmt.Sprintf("charts/a%d.tgz", i)] = large
	}
	folders := map[string]string{}
	for i := range 200 {
		folders[fmt.Sprintf("charts/a%d/Chart.yaml", i)] = fmt.Sprintf(chartFile, fmt.Sprintf("a%d", i))
	}
	cyclic := func(use string) map[string]string {
		return map[string]string{"templates/a.yaml": `{{ $_ := set .Values "a" .Values }}` + use}
	}
	manyNodes := "a: [" + strings.Repeat("{},", 200_000) + "]"
	cases := map[string]struct {
		files  map[string]string
		values map[string]any
		want   string
	}{
		"values with many nodes": {
			files: map[string]string{"values.yaml": manyNodes},
			want:  "values.yaml: line 1: " + many,
		},
		"values that are deep":     {files: map[string]string{"values.yaml": strings.Repeat("[", 5000)}, want: ""},
		"metadata with many nodes": {files: map[string]string{"Chart.lock": manyNodes}, want: "Chart.lock: line 1: " + many},
		"values of a sub-chart in an archive": {
			files: map[string]string{"charts/a.tgz": string(archiveOf(t, "values.yaml", manyNodes))},
			want:  "charts/a.tgz/values.yaml: line 1: " + many,
		},
		"archives in archives": {
			files: map[string]string{"charts/a.tgz": string(inner)},
			want:  "nested more than 10 deep",
		},
		"many large archives": {
			files: archives,
			want:  "the chart and its sub-charts are larger than 100 MiB",
		},
		"copies of global values": {
			files:  folders,
			values: map[string]any{"global": numbered(3000)}, want: "and 201 charts get a copy",
		},
		"values that contain themselves, added": {files: cyclic(`{{ add1 .Values }}`), want: nested},
		"values that contain themselves, compared": {
			files: cyclic(`{{ eq .Values .Values }}`),
			want:  "cannot be compared",
		},
		"values that contain themselves, as YAML":   {files: cyclic(`{{ toYaml .Values }}`), want: nested},
		"values that contain themselves, by method": {files: cyclic(`{{ .Values.YAML }}`), want: nested},
		"values that contain themselves, by method in an argument": {
			files: cyclic(`{{ $x := list $.Values.YAML }}`),
			want:  nested,
		},
		"values that contain themselves, by method in parentheses": {
			files: cyclic(`{{ with (.Values).YAML }}{{ end }}`),
			want:  nested,
		},
		"values that contain themselves, by method of the dot": {files: cyclic(
			`{{ with .Values }}{{ .YAML | quote }}{{ end }}`), want: nested},
		"values that contain themselves, merged": {
			files: cyclic(`{{ $x := mustMerge (dict) .Values }}`),
			want:  nested,
		},
		"values that contain themselves, unused": {files: cyclic(
			`{{ $x := .Values.a.a.a.a.b | default 1 }}`)},
		"copies of files": {
			files: map[string]string{
				"large.txt":        strings.Repeat("a", 4<<20),
				"templates/a.yaml": `{{ $x := list }}{{ range until 1000 }}{{ $x = append $x ($.Files.GetBytes "large.txt") }}{{ end }}`,
			},
			want: "the templates write more than",
		},
		"copies of files by a method without arguments": {
			files: map[string]string{
				"large.txt":        strings.Repeat("a", 4<<20),
				"templates/a.yaml": `{{ $x := list }}{{ range until 1000 }}{{ $x = append $x $.Files.AsConfig }}{{ end }}`,
			},
			want: "the templates write more than",
		},
		"merges of a context with a large file, which copy no text": {
			files: map[string]string{
				"large.txt":        strings.Repeat("a", 4<<20),
				"templates/a.yaml": `{{ range until 100 }}{{ $x := mergeOverwrite (dict "a" 1) $ }}{{ end }}`,
			},
		},
		"manifests with many nodes": {
			files: map[string]string{"templates/a.yaml": `x: [{{ repeat 5000000 "{}," }}]`}, want: many,
		},
		"nested actions": {
			files: map[string]string{"templates/a.yaml": strings.Repeat("{{ if 1 }}", 500_000)},
			want:  "actions nest more than 1000 deep",
		},
		"nested actions in tpl": {
			files: map[string]string{"templates/a.yaml": "{{ tpl (repeat 1000000 `{{ if 1 }}`) . }}"},
			want:  "actions nest more than 1000 deep",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := fstest.MapFS{"Chart.yaml": {Data: fmt.Appendf(nil, chartFile, "a")}}
			for file, text := range c.files {
				source[file] = &fstest.MapFile{Data: []byte(text)}
			}
			g, err := New(source, Options{})
			if err == nil {
				_, err = g.Generate(t.Context(), generator.Request{Name: "a", Parameters: c.values})
			}
			if name == "values that are deep" {
				if err == nil {
					t.Error("want an error")
				}
				return
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %.1000v", c.want, err)
			}
		})
	}
}
