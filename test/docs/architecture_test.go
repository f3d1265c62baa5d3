package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quotedPath matches a path in the text of a page, such as `pkg/component/setup.go`.
var quotedPath = regexp.MustCompile("`([a-z.][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]+)`")

// Tables of ARCHITECTURE.md tell in which file a change begins. The paths are from the root of the repository. Prose of
// the page names packages of pkg/component/internal without that prefix.
func TestPathsOfTheArchitectureExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, match := range quotedPath.FindAllStringSubmatch(string(text), -1) {
		path := match[1]
		if path == "package/file.go" {
			continue // The page explains the form of paths with it.
		}
		top, _, _ := strings.Cut(path, "/")
		if _, err := os.Stat(filepath.Join(root, top)); err != nil {
			path = filepath.Join("pkg/component/internal", path)
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", match[1])
		}
		found++
	}
	if found < 300 {
		t.Errorf("found %d paths, want those of all tables", found)
	}
}
