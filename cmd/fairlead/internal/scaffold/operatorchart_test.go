package scaffold_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// definition is used in place of the definition that controller-gen generates.
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shops.apps.example.com
  annotations: {controller-gen.kubebuilder.io/version: v0.0.0}
`

// operatorCharts returns the operator charts of two projects: one without webhooks, and one with webhooks.
func operatorCharts(t *testing.T) map[string]fs.FS {
	t.Helper()
	fairlead, err := scaffold.FindFairlead(root)
	if err != nil {
		t.Fatal(err)
	}
	charts := map[string]fs.FS{}
	for name, webhooks := range map[string]bool{"plain": false, "webhooks": true} {
		o := shop()
		o.Webhooks = webhooks
		project, err := scaffold.New(t.Context(), scaffold.Request{Options: o, Fairlead: fairlead})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{"definitions/shops.yaml": []byte(definition)}
		for _, file := range project.Files {
			if relative, ok := strings.CutPrefix(file.Path, "chart/"); ok {
				files[relative] = file.Content
			}
		}
		if charts[name], err = source.FromFiles(files); err != nil {
			t.Fatal(err)
		}
	}
	return charts
}

func TestTheChartOfAnOperatorRendersWhatItsValuesSay(t *testing.T) {
	for name, chart := range operatorCharts(t) {
		t.Run(name, func(t *testing.T) {
			generatortest.Golden(t, filepath.Join("testdata/operator-chart", name), func(fs.FS) (generator.Generator, error) {
				return helm.New(chart, helm.Options{Raw: true})
			})
		})
	}
}

// In YAML, the plain text y can mean true, and 1 is a number.
func TestTheChartOfAnOperatorTakesNamesThatYAMLTakesForSomethingElse(t *testing.T) {
	for name, chart := range operatorCharts(t) {
		t.Run(name, func(t *testing.T) {
			g, err := helm.New(chart, helm.Options{Raw: true})
			if err != nil {
				t.Fatal(err)
			}
			objects, err := g.Generate(t.Context(), generator.Request{
				Name: "1", Namespace: "y", Revision: 1,
				Parameters: map[string]any{
					"metrics": map[string]any{"readers": []any{map[string]any{"name": "1", "namespace": "on"}}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				if place := object.GetNamespace(); place != "" && place != "y" {
					t.Errorf("the object %s is in namespace %q, want y", object.GetName(), place)
				}
			}
		})
	}
}

func TestTheChartOfAnOperatorPassesHelmLint(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the programs of make")
	}
	for name, chart := range operatorCharts(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "shop-operator")
			if err := os.CopyFS(dir, chart); err != nil {
				t.Fatal(err)
			}
			if output, err := exec.CommandContext(t.Context(), program(t, "helm"), "lint", "--strict",
				dir).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

// schema contains the parts of values.schema.json that the test reads.
type schema struct {
	Properties           map[string]schema
	AdditionalProperties any
}

// paths returns the paths of all values without properties. It reports an error for objects that allow unknown keys.
func (s schema) paths(t *testing.T, at string) (found []string) {
	t.Helper()
	if s.AdditionalProperties != false {
		t.Errorf("the schema of %q allows unknown keys", at)
	}
	for name, property := range s.Properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		if len(property.Properties) == 0 {
			found = append(found, path)
			continue
		}
		found = append(found, property.paths(t, path)...)
	}
	return found
}

// leaves returns the paths of values. If the schema has properties of a value, it returns the paths of the properties
// instead.
func leaves(values map[string]any, s schema, at string) (found []string) {
	for name, value := range values {
		path := strings.TrimPrefix(at+"."+name, ".")
		parts, ok := value.(map[string]any)
		if !ok || len(s.Properties[name].Properties) == 0 {
			found = append(found, path)
			continue
		}
		found = append(found, leaves(parts, s.Properties[name], path)...)
	}
	return found
}

// decode reads a file of a chart.
func decode(t *testing.T, chart fs.FS, name string, into any) {
	t.Helper()
	text, err := fs.ReadFile(chart, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestEachValueOfTheChartOfAnOperatorHasASchema(t *testing.T) {
	for name, chart := range operatorCharts(t) {
		t.Run(name, func(t *testing.T) {
			var top schema
			decode(t, chart, "values.schema.json", &top)
			delete(top.Properties, "global") // Helm passes the value global to each sub-chart.
			values := map[string]any{}
			decode(t, chart, "values.yaml", &values)
			inSchema, inValues := top.paths(t, ""), leaves(values, top, "")
			slices.Sort(inSchema)
			slices.Sort(inValues)
			if !slices.Equal(inSchema, inValues) {
				t.Errorf("the schema has the values %v, but values.yaml has %v", inSchema, inValues)
			}
		})
	}
}
