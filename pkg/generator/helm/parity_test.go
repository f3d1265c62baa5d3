package helm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/templating"
)

// TestRendersAsHelmDoes compares the output of each template with the output of Helm's own engine for the same values.
func TestRendersAsHelmDoes(t *testing.T) {
	folders, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{"testdata/parity": ""}
	for _, folder := range folders {
		inputs[filepath.Join(folder, "input")] = filepath.Join(folder, "request.yaml")
	}
	for input, file := range inputs {
		t.Run(input, func(t *testing.T) {
			request, err := generatortest.ReadRequest(file)
			if err != nil {
				t.Fatal(err)
			}
			req := request.Generator()
			req.Target = nil
			parsed, err := parseChart(os.DirFS(input))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, parsed, req)
		})
	}
}

func compare(t *testing.T, parsed *parsedChart, req generator.Request) {
	t.Helper()
	theirs := copyChart(parsed.chart)
	values, err := parsed.renderValues(theirs, req, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := engine.Render(theirs, values)
	if err != nil {
		t.Fatal(err)
	}
	ours := copyChart(parsed.chart)
	if values, err = parsed.renderValues(ours, req, Options{}); err != nil {
		t.Fatal(err)
	}
	rendered, err := parsed.execute(templating.NewBudget(t.Context(), generator.Limits{}), ours, values, req)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range rendered {
		got[file.Name] = string(file.Data)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("-Helm +Fairlead:\n%s", difference)
	}
}
