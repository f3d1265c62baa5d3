package reference_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/reference"
)

const stabilityFile = "internal/reference/stability.yaml"

func features(t *testing.T) []reference.Feature {
	t.Helper()
	found, err := reference.Features(filepath.Join(reference.Root(t), stabilityFile))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReferenceOfStability(t *testing.T) {
	var rows [][]string
	for _, f := range features(t) {
		rows = append(rows, []string{
			"[" + f.Feature + "](../" + f.Page + ")", string(f.Stability), codes("", slices.Concat(f.Fields, f.Settings)),
			codes("fairlead ", f.Commands), codes("--", f.Flags), codes("--", f.OperatorFlags), codes("", f.Packages),
		})
	}
	reference.Check(t, "stability.md", "# Stability of features\n\n"+
		"[Support](../support.md#deprecation) says what alpha, beta and stable mean. No feature is stable while the API is "+
		"alpha.\nA test fails if a field, an annotation, a command, a flag or a package is not in this table.\n\n"+
		reference.Table([]string{
			"feature", "stability", "fields and annotations", "commands", "flags of fairlead", "flags of fairlead-operator",
			"packages",
		}, rows))
}

// codes returns a list of names as code.
func codes(prefix string, names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = reference.Code(prefix + name)
	}
	return strings.Join(texts, ", ")
}

func TestEachNameOfTheReferenceHasAStability(t *testing.T) {
	for _, kind := range []struct {
		name  string
		known []string
		names func(reference.Feature) []string
	}{
		{"field", fieldsBelowSpecAndStatus(t), func(f reference.Feature) []string { return f.Fields }},
		{"annotation", settingNames(t), func(f reference.Feature) []string { return f.Settings }},
		{"command", namesOn(t, "fairlead/*.md", commandHeading), func(f reference.Feature) []string { return f.Commands }},
		{"flag", namesOn(t, "fairlead/*.md", flagRow), func(f reference.Feature) []string { return f.Flags }},
		{
			"operator flag", namesOn(t, "fairlead-operator.md", flagRow),
			func(f reference.Feature) []string { return f.OperatorFlags },
		},
		{"package", namesOn(t, "go-api.txt", packageName), func(f reference.Feature) []string { return f.Packages }},
	} {
		if len(kind.known) == 0 {
			t.Errorf("no %s was found in the reference", kind.name)
		}
		for _, problem := range reference.CompareNames(kind.name, kind.known, features(t), kind.names) {
			t.Errorf("%s; correct %s", problem, stabilityFile)
		}
	}
}

func TestNoFeatureIsMoreStableThanTheAPI(t *testing.T) {
	if !strings.Contains(v1alpha1.GroupVersion.Version, "alpha") {
		t.Skip("the API is not alpha any more")
	}
	for _, f := range features(t) {
		if f.Stability == reference.Stable {
			t.Errorf("%q cannot be stable in an alpha version of the API", f.Feature)
		}
	}
}

func TestCompareNamesFindsNamesThatAreMissingTwiceOrUnknown(t *testing.T) {
	got := reference.CompareNames("flag", []string{"a", "b", "c"}, []reference.Feature{
		{Feature: "One", Flags: []string{"a", "b"}}, {Feature: "Two", Flags: []string{"b", "unknown"}},
	}, func(f reference.Feature) []string { return f.Flags })
	want := []string{
		`flag b belongs to "One" and to "Two"`, `flag unknown of "Two" does not exist`, "flag c belongs to no feature",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func fieldsBelowSpecAndStatus(t *testing.T) []string {
	t.Helper()
	schema, err := reference.Schema(filepath.Join(reference.Root(t), "config", "crd", "fairlead.io_components.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, part := range []string{"spec", "status"} {
		for _, name := range slices.Sorted(maps.Keys(schema.Properties[part].Properties)) {
			names = append(names, part+"."+name)
		}
	}
	return names
}

func settingNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, c := range constants(t, "pkg/manifests/settings.go") {
		if strings.HasPrefix(c.Name, "Annotation") {
			names = append(names, c.Value)
		}
	}
	return names
}

// The rows and headings of the pages that the tests of the programs compare with their commands and flags.
var (
	flagRow        = regexp.MustCompile("(?m)^\\| `(?:-[a-zA-Z], )?--([a-z][a-z-]*)")
	commandHeading = regexp.MustCompile(`(?m)^##? fairlead ([a-z -]+)$`)
	packageName    = regexp.MustCompile(`(?m)^([a-z0-9/]+): `)
)

// namesOn returns the names that a pattern finds on pages of the reference, sorted.
func namesOn(t *testing.T, pages string, pattern *regexp.Regexp) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(reference.Root(t), "docs", "reference", pages))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(content), -1) {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
