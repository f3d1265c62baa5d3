package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/docs"
)

// named matches the folders in the first column of a table of packages.
var named = regexp.MustCompile("`([a-z0-9/-]+)`")

func TestTheArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var listed []string
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		for _, match := range named.FindAllStringSubmatch(row, -1) {
			if strings.Contains(match[1], "/") || strings.HasPrefix(row, "| `"+match[1]+"`") {
				listed = append(listed, match[1])
			}
		}
	}
	packages, err := docs.Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range packages {
		if !slices.Contains(listed, folder) {
			t.Errorf("%s is not in the table of packages in ARCHITECTURE.md", folder)
		}
	}
	for _, folder := range listed {
		if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
			t.Errorf("the table of packages in ARCHITECTURE.md: %v", err)
		}
	}
}

func TestPackagesAreFoldersWithGoAndModules(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"main.go", "a/a.go", "a/b/b_test.go", "a/none/text.md", "module/go.mod", "module/c/c.go", "a/testdata/d.go", ".hidden/e.go", "bin/f.go"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := docs.Packages(folder)
	if difference := cmp.Diff([]string{"a", "a/b", "module"}, got); err != nil || difference != "" {
		t.Errorf("%v\n%s", err, difference)
	}
}
