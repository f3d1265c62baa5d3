package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/test/docs"
)

func TestEveryFunctionOfTheLibraryHasAnExample(t *testing.T) {
	missing, err := docs.WithoutExample(filepath.Join(root, "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range missing {
		t.Errorf("%s has no Example function; write an Example function that compiles, with // Output: if it can be run",
			function)
	}
}

func TestWithoutExampleFindsThem(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"a.go":      "package p\n\nfunc New() {}\nfunc Other() {}\nfunc hidden() {}\ntype T int\nfunc (T) Method() {}\n",
		"a_test.go": "package p_test\n\nfunc ExampleNew_twice() {}\nfunc Helper() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing, err := docs.WithoutExample(folder)
	if want := []string{filepath.Base(folder) + ".Other"}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("want %v, got %v (%v)", want, missing, err)
	}
}
