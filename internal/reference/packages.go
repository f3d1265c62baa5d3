package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Package is a Go package of the project.
type Package struct {
	// Folder is relative to the root, with slashes.
	Folder string
	// Synopsis is the first sentence of the package comment, without its first two words.
	Synopsis string
	// Module reports whether the folder is a Go module of its own.
	Module bool
}

// Packages returns the packages below folders of a root, sorted by folder. Test data and hidden folders are left out.
// Packages fails if a package has no comment, also if all its files are tests.
func Packages(root string, folders ...string) ([]Package, error) {
	comments := map[string]string{}
	modules := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
					return filepath.SkipDir
				}
				return nil
			}
			relative, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			relative = filepath.ToSlash(relative)
			if entry.Name() == "go.mod" {
				modules[relative] = true
			}
			if filepath.Ext(path) != ".go" {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				return err
			}
			if comments[relative] == "" {
				comments[relative] = synopsis(file)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var packages []Package
	var missing []error
	for _, folder := range slices.Sorted(maps.Keys(comments)) {
		if comments[folder] == "" {
			missing = append(missing, fmt.Errorf("%s has no package comment", folder))
		}
		packages = append(packages, Package{Folder: folder, Synopsis: comments[folder], Module: modules[folder]})
	}
	return packages, errors.Join(missing...)
}

// synopsis returns the first sentence of a package comment, which begins with "Package name" or "Command name",
// without these two words and without the full stop.
func synopsis(file *ast.File) string {
	if file.Doc == nil {
		return ""
	}
	text := new(doc.Package).Synopsis(file.Doc.Text())
	if first, rest, _ := strings.Cut(text, " "); first == "Package" || first == "Command" {
		_, text, _ = strings.Cut(rest, " ")
	}
	return strings.TrimRight(text, ".:")
}
