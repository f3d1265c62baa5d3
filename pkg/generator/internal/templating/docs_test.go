package templating

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
	"github.com/fairlead-io/fairlead/pkg/generator/internal/rendering"
)

const page = "../../../../docs/reference/functions.md"

// random marks an example whose result cannot be predicted.
const random = "random"

// row is a line of a table on the documentation page.
type row struct {
	line, signatures, purpose, example, result string
}

var cells = regexp.MustCompile("^\\| (`.*`) \\| (.*) \\| `(.*)` \\| (.*)\\|$")

// rowsOf returns the rows of all tables.
func rowsOf(t *testing.T, text string) []row {
	t.Helper()
	var rows []row
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		found := cells.FindStringSubmatch(line)
		if found == nil {
			t.Errorf("not understood: %s", line)
			continue
		}
		rows = append(
			rows,
			row{line, found[1], found[2], strings.ReplaceAll(found[3], `\|`, "|"), strings.TrimSpace(found[4])},
		)
	}
	return rows
}

func TestTheExamplesOfThePageGiveWhatItSays(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	update := flag.Lookup("update").Value.String() == "true"
	for _, row := range rowsOf(t, text) {
		got := shown(renderExample(t, row.example))
		switch {
		case row.result == random:
		case update:
			text = strings.Replace(text, row.line, strings.TrimSuffix(row.line, row.result+" |")+" "+got+" |", 1)
		case got != row.result:
			t.Errorf("%s\ngives %s", row.line, got)
		}
	}
	if !update {
		return
	}
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shown is a result as a cell contains it.
func shown(result string) string {
	if result == "" {
		return "nothing"
	}
	return "`" + strings.NewReplacer("\n", `\n`, "|", `\|`).Replace(result) + "`"
}

func renderExample(t *testing.T, example string) string {
	t.Helper()
	set, err := Parse([]rendering.File{{Name: "example", Data: []byte(example)}}, Options{})
	if err != nil {
		t.Errorf("%s: %v", example, err)
		return ""
	}
	object := func(name string, labels map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"level": "info"},
			"metadata": map[string]any{"namespace": "apps", "name": name, "labels": labels},
		}}
	}
	files, err := set.Render(Input{
		Request: generator.Request{
			Name: "shop", Namespace: "apps", Revision: 3, Digest: "8f14e45fceea167a",
			Now:     time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
			Exports: generator.NewExports(map[string]any{"dbHost": "10.0.0.7"}),
			Inputs:  map[string]any{"rates": map[string]any{"EUR": 1.08}},
			Target:  generatortest.Lookup{object("settings", map[string]any{"app": "shop"}), object("other", nil)},
			Capabilities: generator.Capabilities{
				Version:     version.Info{GitVersion: "v1.36.3", Major: "1", Minor: "36"},
				APIVersions: generator.NewAPIVersions("v1", "v1/Pod", "apps/v1", "apps/v1/Deployment"),
			},
		},
		Values: map[string]any{"replicas": int64(2), "image": map[string]any{"tag": "1.2"}},
		Files: NewFiles([]rendering.File{
			{Name: "files/motd.txt", Data: []byte("welcome")}, {Name: "files/more/note.txt", Data: []byte("note")},
		}),
		Budget: NewBudget(t.Context(), generator.Limits{}),
	}, []string{"example"})
	if err != nil {
		t.Errorf("%s: %v", example, err)
		return ""
	}
	return string(files[0].Data)
}

var nameOfSignature = regexp.MustCompile("`(\\w+)[^`]*`")

func TestEveryFunctionIsOnThePage(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range rowsOf(t, string(content)) {
		for _, signature := range nameOfSignature.FindAllStringSubmatch(row.signatures, -1) {
			documented[signature[1]] = true
		}
	}
	there := tableOf(Options{}, nil)
	delete(there, countedFunction)
	delete(there, printableFunction)
	// These functions of text/template are replaced only because of their errors.
	delete(there, "eq")
	delete(there, "ne")
	if difference := cmp.Diff(slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(documented))); difference != "" {
		t.Errorf("-there +documented:\n%s", difference)
	}
}
