package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Spec is a spec, or a test function, in the test files of the project.
type Spec struct {
	// File is the path of the test file, relative to the root of the project, with slashes.
	File string
	// Title contains the texts of the containers of the spec and its own text. It contains Computed for each part that is
	// not literal.
	Title string
	// titles contains the title with all its containers, without the first one, and so on.
	titles []string
	// patterns match titles with values for the parts that are not literal.
	patterns []*regexp.Regexp
}

// Computed is the part of a title for a value that is known only when the tests run.
const Computed = "…"

// Specs are the specs of some folders.
type Specs []Spec

// ReadSpecs returns the specs and the test functions in the test files of folders and their sub-folders. The folders
// are relative to root, the root of the project.
func ReadSpecs(root string, folders ...string) (Specs, error) {
	var specs Specs
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			for _, texts := range titlesOfFile(file) {
				specs = append(specs, newSpec(filepath.ToSlash(name), texts))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// newSpec returns the spec with the texts of its containers and its own text.
func newSpec(file string, texts []string) Spec {
	s := Spec{File: file, Title: strings.Join(texts, " ")}
	for i := range texts {
		title := strings.Join(texts[i:], " ")
		if texts[i] == Computed {
			continue
		}
		s.titles = append(s.titles, title)
		if strings.Contains(title, Computed) {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(title), Computed, ".*")
			s.patterns = append(s.patterns, regexp.MustCompile("^"+pattern+"$"))
		}
	}
	return s
}

// Named reports whether text is the title of the spec, or the beginning of its title. The text may lack containers of
// the spec.
func (s Spec) Named(text string) bool {
	return slices.ContainsFunc(s.titles, func(title string) bool { return strings.HasPrefix(title, text) }) ||
		slices.ContainsFunc(s.patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) })
}

// Files returns the files of the specs that text names, sorted.
func (s Specs) Files(text string) []string {
	var files []string
	for _, spec := range s {
		if spec.Named(text) {
			files = append(files, spec.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// titlesOfFile returns the texts of each spec, after those of its containers, and the names of test functions.
func titlesOfFile(file *ast.File) [][]string {
	var titles [][]string
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(function.Name.Name, "Test") {
			titles = append(titles, []string{function.Name.Name})
		}
	}
	return append(titles, titlesIn(file, nil)...)
}

// titlesIn returns the texts of the specs in a part of a file, after the texts of its containers.
func titlesIn(part ast.Node, containers []string) [][]string {
	var titles [][]string
	ast.Inspect(part, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		if !ok {
			return true
		}
		texts := append(slices.Clone(containers), titleOf(call.Args[0]))
		switch name.Name {
		case "It", "Entry":
			if name.Name == "Entry" || texts[len(texts)-1] != Computed {
				titles = append(titles, texts)
			}
		case "Describe", "Context", "When", "DescribeTable":
			if name.Name == "DescribeTable" && !slices.ContainsFunc(call.Args, isEntry) {
				titles = append(titles, append(slices.Clone(texts), Computed))
			}
			for _, argument := range call.Args[1:] {
				titles = append(titles, titlesIn(argument, texts)...)
			}
			return false
		}
		return true
	})
	return titles
}

// isEntry reports whether an expression is the call of Entry.
func isEntry(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "Entry"
}

var formatVerb = regexp.MustCompile(`%[a-z]`)

// titleOf returns the value of an expression of literals, with Computed for each part that is not literal.
func titleOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return titleOf(e.X) + titleOf(e.Y)
	case *ast.CallExpr:
		if function, ok := e.Fun.(*ast.SelectorExpr); ok && function.Sel.Name == "Sprintf" {
			return formatVerb.ReplaceAllLiteralString(titleOf(e.Args[0]), Computed)
		}
	}
	return Computed
}
