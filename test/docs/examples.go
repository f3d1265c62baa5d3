package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WithoutExample returns the exported functions, without methods, that have no Example function in the tests of their
// package, as folder.Function. It reads all packages below root except internal packages.
func WithoutExample(root string) ([]string, error) {
	var missing []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == "internal" || entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		functions, examples, err := declared(path)
		for _, name := range functions {
			isOne := func(example string) bool { return example == name || strings.HasPrefix(example, name+"_") }
			if !slices.ContainsFunc(examples, isOne) {
				missing = append(missing, filepath.Base(path)+"."+name)
			}
		}
		return err
	})
	return missing, err
}

// declared returns the exported functions of the package in a folder, and the names of the functions that its examples
// show.
func declared(folder string) (functions, examples []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil {
				continue
			}
			example, isExample := strings.CutPrefix(function.Name.Name, "Example")
			switch isTest := strings.HasSuffix(path, "_test.go"); {
			case isTest && isExample:
				examples = append(examples, example)
			case !isTest && function.Name.IsExported():
				functions = append(functions, function.Name.Name)
			}
		}
	}
	return functions, examples, nil
}
