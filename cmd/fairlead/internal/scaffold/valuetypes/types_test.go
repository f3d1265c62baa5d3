package valuetypes_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold/valuetypes"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read reads a chart of testdata.
func read(t *testing.T, folder string) valuetypes.Chart {
	t.Helper()
	chart := valuetypes.Chart{Templates: map[string]string{}, SubCharts: []string{"postgresql"}}
	for name, text := range map[string]*[]byte{"values.yaml": &chart.Values, "values.schema.json": &chart.Schema} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		*text = content
	}
	templates, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range templates {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		chart.Templates["templates/"+filepath.Base(name)] = string(content)
	}
	return chart
}

// show returns the content of a golden file for types.
func show(t *testing.T, types valuetypes.Types) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("package v1\n")
	out.WriteString(types.Code)
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	shown := bytes.NewBuffer(formatted)
	shown.WriteString("\n// Sample:\n")
	for _, key := range types.Keys {
		if value, ok := types.Sample[key]; ok {
			fmt.Fprintf(shown, "//   %s: %v\n", key, value)
		}
	}
	shown.WriteString("\n// Notes:\n")
	for _, note := range types.Notes {
		fmt.Fprintf(shown, "//   %s\n", note)
	}
	return shown.Bytes()
}

func TestTypesAreDerivedFromWhatAChartSaysOfItsValues(t *testing.T) {
	cases, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range cases {
		if !entry.IsDir() || entry.Name() == "fuzz" {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			folder := filepath.Join("testdata", entry.Name())
			types, err := valuetypes.Derive("Shop", read(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			got, golden := show(t, types), filepath.Join(folder, "expected.go.txt")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(string(want), string(got)); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

func TestExamplesOfDemandedValues(t *testing.T) {
	const values = "set: a\nempty: ''\nport: null\nnested: {user: me}\nlist: [{name: x}]\n"
	for name, test := range map[string]struct {
		template string
		want     map[string]any
	}{
		"no value":                        {`{{ required "x" "text" }}`, map[string]any{}},
		"a value with a default":          {`{{ required "x" .Values.set }}`, map[string]any{}},
		"an empty value":                  {`{{ required "x" .Values.empty }}`, map[string]any{"empty": "example"}},
		"a value after a pipe":            {`{{ .Values.port | required "x" | quote }}`, map[string]any{"port": "example"}},
		"a value that is not in the file": {`{{ required "x" .Values.other }}`, map[string]any{"other": "example"}},
		"a nested value": {
			`{{ required "x" .Values.nested.password }}{{ required "x" .Values.nested.user }}`,
			map[string]any{"nested": map[string]any{"password": "example"}},
		},
		"a value in a loop": {`{{ range .Values.list }}{{ required "x" .name }}{{ end }}`, map[string]any{}},
		"a value of a with": {
			`{{ with .Values.nested }}{{ required "x" .key }}{{ end }}`,
			map[string]any{"nested": map[string]any{"key": "example"}},
		},
		"a value in a condition": {
			`{{ if .Values.set }}{{ required "x" .Values.empty }}{{ end }}`,
			map[string]any{"empty": "example"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			types, err := valuetypes.Derive("Shop", valuetypes.Chart{
				Values: []byte(values), Templates: map[string]string{"templates/a.yaml": test.template},
			})
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(test.want, types.Demanded); difference != "" {
				t.Errorf("(-want +got):\n%s", difference)
			}
		})
	}
}

func TestWhatCannotBeReadIsSaidWithItsFile(t *testing.T) {
	for name, test := range map[string]struct {
		chart valuetypes.Chart
		want  string
	}{
		"values that are not YAML":  {valuetypes.Chart{Values: []byte("a: [")}, "values.yaml"},
		"a schema that is not JSON": {valuetypes.Chart{Schema: []byte("{")}, "values.schema.json"},
		"a schema of another kind":  {valuetypes.Chart{Schema: []byte(`{"type": 1}`)}, "values.schema.json"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := valuetypes.Derive("Shop", test.chart)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzDerive(f *testing.F) {
	f.Add("a: 1\n# b\nb: {c: [1]}\n", `{"properties": {"a": {"type": "integer", "minimum": 1}}}`,
		"{{ range .Values.b.c }}{{ . }}{{ end }}")
	f.Add("a: &x {b: *x}\n", `{"$ref": "#"}`, "{{ with .Values }}{{ toYaml . }}{{ end }}")
	f.Add("\"`\": x\n# +k8s\n'a\"b': 1\n", `{"properties": {"x": {"enum": ["\n", null]}}}`,
		"{{ $x := index .Values \"a\" }}{{ $x.y }}")
	f.Add("a: &a [1, 2]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: {<<: {x: 1}}\n", "", "{{ range .Values.c }}{{ . }}{{ end }}")
	fuzzing.Run(f, func(t *testing.T, values, schema, template string) {
		types, err := valuetypes.Derive("Shop", valuetypes.Chart{
			Values: []byte(values), Schema: []byte(schema), Templates: map[string]string{"templates/a.yaml": template},
		})
		if err != nil {
			return
		}
		if _, err := format.Source([]byte("package v1\n" + types.Code)); err != nil {
			t.Fatalf("%v\n%s", err, types.Code)
		}
	})
}
