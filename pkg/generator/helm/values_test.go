package helm_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// randomValues returns a tree with few keys, so that two trees often have the same keys with values, nulls, or values
// of other types.
func randomValues(random *rand.Rand, depth int) map[string]any {
	values := map[string]any{}
	for _, key := range []string{"a", "b", "sub", "global", "enabled"} {
		if random.IntN(3) == 0 {
			continue
		}
		switch kind := random.IntN(9); {
		case kind < 3 && depth > 0:
			values[key] = randomValues(random, depth-1)
		case kind == 3:
			values[key] = nil
		case kind == 4:
			values[key] = []any{int64(random.IntN(9)), "x", map[string]any{"a": nil}}
		case kind == 5:
			values[key] = int64(random.IntN(9)) * 1_000_000_007
		case kind == 6:
			values[key] = random.IntN(2) == 0
		case kind == 7:
			values[key] = 0.5
		default:
			values[key] = fmt.Sprint("text ", random.IntN(9))
		}
	}
	return values
}

// TestValuesAreMergedAsHelmDoes compares the values in the templates of a chart and its sub-chart with the values that
// Helm computes from the same text.
func TestValuesAreMergedAsHelmDoes(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		parameters := randomValues(random, 3)
		files := map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.0.1\n" +
				"dependencies: [{name: sub, version: '*', condition: sub.enabled, import-values: [a, {child: b, parent: " +
				"global}]}]\n",
			"values.yaml":            text(t, randomValues(random, 3)),
			"templates/a.yaml":       configMap + "data: {values: {{ toJson .Values | quote }}}\n",
			"charts/sub/Chart.yaml":  "apiVersion: v2\nname: sub\nversion: 0.0.1\n",
			"charts/sub/values.yaml": text(t, randomValues(random, 3)),
			"charts/sub/templates/b.txt": strings.Replace(
				configMap,
				"name: a",
				"name: b",
				1,
			) + "data: {values: {{ toJson .Values | quote }}}\n",
		}
		want, failure := composedByHelm(t, files, parameters)
		g, err := helm.New(chartOf(files), helm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		objects, err := g.Generate(t.Context(), generator.Request{Name: "demo", Parameters: plain(t, parameters)})
		if (err == nil) != (failure == nil) {
			t.Fatalf("seed %d: Helm returned %v, Fairlead %v", seed, failure, err)
		}
		got := map[string]string{}
		for _, object := range objects {
			got[object.GetName()] = dataOf(t, object)["values"]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: parameters %s\ngot  %v\nwant %v", seed, text(t, parameters), got, want)
		}
	}
}

// TestWholeNumbersArePrintedWithTheirDigits compares the output of values with that of helm --set, and shows that
// smaller numbers can be compared with the chart's defaults.
func TestWholeNumbersArePrintedWithTheirDigits(t *testing.T) {
	files := map[string]string{
		"values.yaml": "limit: 3\nsize: 2.5\n",
		"templates/a.yaml": configMap +
			"data:\n  tag: \"{{ .Values.tag }}\"\n  formatted: {{ printf \"%v\" .Values.tag | quote }}\n" +
			"  nested: \"{{ index .Values.list 0 }}\"\n  yaml: {{ toYaml .Values.tag | quote }}\n" +
			"  more: \"{{ gt .Values.count .Values.limit }}\"\n",
	}
	for _, c := range []struct {
		number any
		want   string
	}{
		{int64(20161216), "20161216"},
		{int64(999_999), "999999"},
		{int64(1_000_000), "1000000"},
		{int64(-1_000_660_000), "-1000660000"},
		{int64(9007199254740993), "9007199254740993"},
		{20161216, "20161216"},
		{1.5, "1.5"},
	} {
		parameters := map[string]any{"tag": c.number, "list": []any{c.number}, "count": int64(999_999)}
		objects := generate(t, chartOf(files), helm.Options{}, generator.Request{Name: "demo", Parameters: parameters})
		data := dataOf(t, objects[0])
		for _, key := range []string{"tag", "formatted", "nested", "yaml"} {
			if data[key] != c.want {
				t.Errorf("%v: %s is %s", c.number, key, data[key])
			}
		}
		if data["more"] != "true" {
			t.Errorf("%v: the comparison is %s", c.number, data["more"])
		}
	}
}

// composedByHelm returns the values that Helm passes to the templates of the chart and, if it is enabled, of its
// sub-chart.
func composedByHelm(t *testing.T, files map[string]string, parameters map[string]any) (map[string]string, error) {
	t.Helper()
	var buffered []*loader.BufferedFile
	for name, content := range files {
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: []byte(content)})
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		t.Fatal(err)
	}
	read, err := chartutil.ReadValues([]byte(text(t, parameters)))
	if err != nil {
		t.Fatal(err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, read); err != nil {
		return nil, err
	}
	top, err := chartutil.ToRenderValues(loaded, read, chartutil.ReleaseOptions{Name: "demo"}, nil)
	if err != nil {
		return nil, err
	}
	values, err := top.Table("Values")
	if err != nil {
		return nil, err
	}
	composed := map[string]string{"a": asJSON(t, values)}
	if len(loaded.Dependencies()) > 0 {
		own, err := values.Table("sub")
		if err != nil {
			own = chartutil.Values{}
		}
		composed["b"] = asJSON(t, own)
	}
	return composed, nil
}

func text(t *testing.T, values any) string {
	t.Helper()
	written, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

func asJSON(t *testing.T, values any) string {
	t.Helper()
	written, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// plain returns values in the form of a component's parameters.
func plain(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	var copied map[string]any
	if err := utiljson.Unmarshal([]byte(asJSON(t, values)), &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}
