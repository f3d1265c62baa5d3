package imports

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// products are the folders in which programs also need a doc.go. Elsewhere, such as in test and examples, the comment of
// a program is in one of its files, where its author looks first.
var products = []string{"api", "cmd", "internal", "pkg"}

// withoutDocFile returns a text for each package below a root whose package comment is not in its file doc.go, sorted.
// Packages that consist of tests are left out, and so are test data and hidden folders.
func withoutDocFile(root string) ([]string, error) {
	var wrong []string
	checked := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(relative))
		area, _, _ := strings.Cut(folder, "/")
		if file.Name.Name == "main" && !slices.Contains(products, area) {
			return nil
		}
		if entry.Name() == "doc.go" && file.Doc == nil {
			wrong = append(wrong, folder+"/doc.go has no package comment")
		}
		if entry.Name() != "doc.go" && file.Doc != nil {
			wrong = append(wrong, fmt.Sprintf("%s/%s has a package comment, which belongs in doc.go", folder, entry.Name()))
		}
		if checked[folder] {
			return nil
		}
		checked[folder] = true
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), "doc.go")); err != nil {
			wrong = append(wrong, folder+" has no doc.go, which says what the package contains and which rule it enforces")
		}
		return nil
	})
	slices.Sort(wrong)
	return wrong, err
}
