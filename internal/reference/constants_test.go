package reference_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fairlead-io/fairlead/internal/reference"
)

func write(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConstantsAreReadWithTheirComments(t *testing.T) {
	got, err := reference.Constants(write(t, `package p

// A group.
const (
	// First: it is
	// the first one.
	First Kind = "first"
	// Second is another <one>, after First.
	Second = "second"
	hidden = "hidden"
	Number = 3
)

// Third does it alone.
const Third = "third"
`))
	want := []reference.Constant{
		{Name: "First", Type: "Kind", Value: "first", Meaning: "it is the first one"},
		{Name: "Second", Value: "second", Meaning: "another <one>, after First"},
		{Name: "Third", Value: "third", Meaning: "does it alone"},
	}
	if difference := cmp.Diff(want, got); err != nil || difference != "" {
		t.Error(err, difference)
	}
	rows := reference.Rows(got, "Sec")
	if difference := cmp.Diff([][]string{{"`second`", "another &lt;one>, after `first`"}}, rows); difference != "" {
		t.Error(difference)
	}
}

func TestAConstantWithoutAMeaningIsRefused(t *testing.T) {
	_, err := reference.Constants(write(t, "package p\n\nconst (\n\tFirst = \"first\"\n)\n"))
	if err == nil || err.Error() != "file.go: First has no comment that begins with its name" {
		t.Error(err)
	}
}

func TestFieldsDescendIntoListsAndMaps(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	got := reference.Fields(&apiextensionsv1.JSONSchemaProps{
		Required: []string{"list"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"map": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
			"list": {
				Type: "array", Description: "A list.",
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"a": {Enum: []apiextensionsv1.JSON{{Raw: []byte(`"x"`)}}},
						"b": {},
					},
				}},
			},
		},
	}, "spec.")
	want := [][]string{
		{"`spec.list`", "list of object", "Required. A list."},
		{"`spec.list[].a`", "`x`", ""},
		{"`spec.list[].b`", "any", ""},
		{"`spec.map`", "map of string", ""},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
}

func TestTableKeepsCellsInTheirLines(t *testing.T) {
	got := reference.Table([]string{"a", "b"}, [][]string{{"`x|y`", "two\nlines"}})
	if want := "| a | b |\n|---|---|\n| `x\\|y` | two lines |\n"; got != want {
		t.Error(got)
	}
}
