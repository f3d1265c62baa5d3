package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Packages returns the folders of Go packages below a root, as sorted relative paths with slashes. A nested module is
// returned as a single folder.
func Packages(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil || relative == "." {
			return err
		}
		relative = filepath.ToSlash(relative)
		if !entry.IsDir() {
			if strings.HasSuffix(relative, ".go") {
				found[filepath.ToSlash(filepath.Dir(relative))] = true
			}
			return nil
		}
		if name := entry.Name(); strings.HasPrefix(name, ".") || name == "testdata" || relative == "bin" {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil {
			return nil
		}
		found[relative] = true
		return filepath.SkipDir
	})
	delete(found, ".")
	return slices.Sorted(maps.Keys(found)), err
}
