package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// products are the folders in which programs also need a doc.go. Elsewhere, such as in test and examples, the comment
// of a program is in one of its files, where its author looks first.
var products = []string{"api", "cmd", "internal", "pkg"}

// withoutDocFile returns a text for each package below a root whose package comment is not in its file doc.go, sorted.
// Packages that consist of tests are left out, and so are test data and hidden folders.
func withoutDocFile(root string) ([]string, error) {
	var wrong []string
	checked := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && isSkipped(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir(), filepath.Ext(name) != ".go", strings.HasSuffix(name, "_test.go"):
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(relative))
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || isProgramWithoutDocFile(file, folder) {
			return err
		}
		if text := misplaced(file, folder, entry.Name()); text != "" {
			wrong = append(wrong, text)
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

// isSkipped reports whether a folder contains no packages of this repository.
func isSkipped(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "testdata" || folder == "bin"
}

// isProgramWithoutDocFile reports whether a file belongs to a program that needs no doc.go; see products.
func isProgramWithoutDocFile(file *ast.File, folder string) bool {
	area, _, _ := strings.Cut(folder, "/")
	return file.Name.Name == "main" && !slices.Contains(products, area)
}

// misplaced returns a text about a package comment that is in the wrong file or missing in doc.go, or an empty text.
func misplaced(file *ast.File, folder, name string) string {
	switch {
	case name == "doc.go" && file.Doc == nil:
		return folder + "/doc.go has no package comment"
	case name != "doc.go" && file.Doc != nil:
		return fmt.Sprintf("%s/%s has a package comment, which belongs in doc.go", folder, name)
	}
	return ""
}
