package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"
)

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChanges(t *testing.T) {
	got := changes(values(t, `
image: {tag: "1.0", repository: x}
replicas: 0
replicaCount: 2
controller: {podAnnotations: {}, image: {tag: ""}}
podAnnotations: {a: b}
labels: [a]
logLevel: info
`))
	want := []map[string]any{
		values(t, "podAnnotations: {wild: changed}"), values(t, "controller: {podAnnotations: {wild: changed}}"),
		values(t, "image: {tag: 1.0-wild}"),
		{"replicaCount": 3.0},
		values(t, "logLevel: debug"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want the changes %v, got %v", want, got)
	}
}

func TestMergedLeavesItsArgumentsAlone(t *testing.T) {
	before := values(t, "a: {b: 1, c: 2}")
	if got, want := merged(before, values(t, "a: {b: 3}\nd: 4")), values(t,
		"a: {b: 3, c: 2}\nd: 4"); !reflect.DeepEqual(got, want) {
		t.Errorf("want the merged values %v, got %v", want, got)
	}
	if want := values(t, "a: {b: 1, c: 2}"); !reflect.DeepEqual(before, want) {
		t.Errorf("the merge changed its argument: want %v, got %v", want, before)
	}
}

func TestReadChart(t *testing.T) {
	settings := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(settings, "plain.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (chart, error) { return readChart("testdata/plain", settings) }
	c, err := read()
	if err != nil || c.String() != "plain 1.0.0" || c.Release != "plain" || c.Namespace != "wild" {
		t.Errorf("a chart without settings: got %+v, %v", c, err)
	}
	write("namespace: own\nvalues: {a: 1}\nbefore: [../types]\n")
	if c, err = read(); err != nil || c.Namespace != "own" || c.Values["a"] != 1.0 || len(c.Before) != 1 {
		t.Errorf("a chart with settings: got %+v, %v", c, err)
	}
	write("valuse: {a: 1}\n")
	if _, err = read(); err == nil {
		t.Error("readChart accepted an unknown field in the settings")
	}
	if _, err = readChart("testdata", settings); err == nil {
		t.Error("readChart accepted a folder without a chart")
	}
}
