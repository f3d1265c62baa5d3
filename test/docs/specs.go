package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Specs returns the titles of the specs in the test files of a folder and its sub-folders, and the names of its test
// functions. A title begins with the texts of the containers of the spec. Titles that are computed are left out.
func Specs(folder string) ([]string, error) {
	var titles []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(function.Name.Name, "Test") {
				titles = append(titles, function.Name.Name)
			}
		}
		titles = append(titles, titlesIn(file, "")...)
		return nil
	})
	return titles, err
}

// titlesIn returns the titles of the specs in a part of a file. The prefix has the texts of the containers.
func titlesIn(part ast.Node, prefix string) []string {
	var titles []string
	ast.Inspect(part, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		name, _ := call.Fun.(*ast.Ident)
		literal, _ := call.Args[0].(*ast.BasicLit)
		if name == nil || literal == nil || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		switch name.Name {
		case "It", "Entry":
			titles = append(titles, prefix+text)
		case "Describe", "Context", "When", "DescribeTable":
			for _, argument := range call.Args[1:] {
				titles = append(titles, titlesIn(argument, prefix+text+" ")...)
			}
			return false
		}
		return true
	})
	return titles
}

var (
	namedSpec = regexp.MustCompile(`(?s)\b[Ss]pec: "([^"]+)"`)
	namedTest = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
)

// NamedSpecs returns the titles of the specs that a page names: in sentences such as `Spec: "title"`, as test
// functions, and in the last column of tables with the header "spec", separated by semicolons.
func NamedSpecs(page string) []string {
	var titles []string
	for _, match := range namedSpec.FindAllStringSubmatch(page, -1) {
		titles = append(titles, strings.Join(strings.Fields(match[1]), " "))
	}
	for _, match := range namedTest.FindAllStringSubmatch(page, -1) {
		titles = append(titles, match[1])
	}
	inTable := false
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case last == "spec":
			inTable = true
		case inTable && strings.Trim(last, "-") != "":
			for title := range strings.SplitSeq(last, "; ") {
				titles = append(titles, title)
			}
		}
	}
	return titles
}
