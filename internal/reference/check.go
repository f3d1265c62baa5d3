package reference

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update-reference", false, "write the pages of docs/reference")

// notice is the first line of every page.
const notice = "<!-- Made from the code by make generate. -->\n\n"

// Check fails a test if a page differs from its file in docs/reference. With the flag -update-reference it writes the
// file instead.
func Check(t testing.TB, name, content string) {
	t.Helper()
	CheckText(t, name, notice+content)
}

// CheckText is Check for a file that is no page.
func CheckText(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(folder(t), filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	current, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run 'make generate'", err)
	}
	if difference := cmp.Diff(string(current), content); difference != "" {
		t.Errorf("docs/reference/%s differs from the code; run 'make generate' (-page +code):\n%s", name, difference)
	}
}

// CheckFolder calls Check for all pages of a folder in docs/reference. It also fails if the folder contains files that
// are not among the pages. With the flag -update-reference it removes these files.
func CheckFolder(t testing.TB, name string, pages map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder(t), name, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, wanted := pages[filepath.Base(file)]; wanted {
			continue
		}
		if !*update {
			t.Errorf("docs/reference/%s/%s is not among the pages; run 'make generate'", name, filepath.Base(file))
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for page, content := range pages {
		Check(t, name+"/"+page, content)
	}
}

// folder returns docs/reference, relative to the working directory of a test.
func folder(t testing.TB) string {
	t.Helper()
	return filepath.Join(Root(t), "docs", "reference")
}

// Root returns the root of the project, relative to the working directory of a test.
func Root(t testing.TB) string {
	t.Helper()
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/fairlead-io/fairlead\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no folder above %s contains the module", working)
		}
	}
}
