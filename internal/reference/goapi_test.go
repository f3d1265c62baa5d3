package reference_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reference"
)

// The file go-api-base.txt contains the names of the last version that users have. When a version is released,
// go-api.txt replaces the file, and the lists of docs/upgrading.md are emptied.
const baseOfTheGoAPI = "go-api-base.txt"

func TestReferenceOfTheGoAPI(t *testing.T) {
	root := reference.Root(t)
	lines, err := reference.GoAPI(root, "api", "pkg")
	if err != nil {
		t.Fatal(err)
	}
	reference.CheckText(t, "go-api.txt", strings.Join(lines, "\n")+"\n")
	base, err := os.ReadFile(filepath.Join(root, "docs", "reference", baseOfTheGoAPI))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "upgrading.md"))
	if err != nil {
		t.Fatal(err)
	}
	vanished := reference.Vanished(strings.Split(strings.TrimSpace(string(base)), "\n"), lines)
	for _, name := range slices.Sorted(maps.Keys(vanished)) {
		if !regexp.MustCompile(`\b` + name + `\b`).Match(page) {
			t.Errorf("the Go API has no longer %q; name %s in docs/upgrading.md, with what users write instead",
				vanished[name], name)
		}
	}
}

func TestGoAPIOfAFolder(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"pkg/a/a.go": "package a\n\n// T is a type.\ntype T[V any] struct {\n\tA, B int\n\tc int\n\t*other.E\n}\n\n" +
			"func (t *T[V]) Do(a int,\n\tb string) error { return nil }\n\nfunc hidden() {}\n\n" +
			"type u int\n\nfunc (u) Do() {}\n\n" +
			"type I interface{ M() string }\n\ntype F func(int) string\n\nconst X, y = 1, 2\n",
		"pkg/a/a_test.go":       "package a\n\nfunc InATest() {}\n",
		"pkg/a/internal/i/i.go": "package i\n\nfunc Internal() {}\n",
		"pkg/a/zz_generated.go": "package a\n\nfunc Generated() {}\n",
	}
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := reference.GoAPI(root, "pkg")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pkg/a: const X", "pkg/a: embedded T.E *other.E", "pkg/a: func (t *T[V]) Do(a int, b string) error",
		"pkg/a: member I.M () string", "pkg/a: member T.A int", "pkg/a: member T.B int", "pkg/a: type F func(int) string",
		"pkg/a: type I interface", "pkg/a: type T struct",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the API is\n%s", strings.Join(got, "\n"))
	}
	older := append(slices.Clone(want), "pkg/a: func (t *T[V]) Gone()", "pkg/a: func Old[V any](v V)",
		"pkg/a: member T.D int", "pkg/a: type U struct", "pkg/a: member U.E int", "pkg/a: func (u U) Do()")
	names := slices.Sorted(maps.Keys(reference.Vanished(older, got)))
	if !slices.Equal(names, []string{"D", "Gone", "Old", "U"}) {
		t.Errorf("the vanished names are %v", names)
	}
}
