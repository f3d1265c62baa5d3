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
	err := eachTestFile(folder, func(file *ast.File) {
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(function.Name.Name, "Test") {
				titles = append(titles, function.Name.Name)
			}
		}
		titles = append(titles, titlesIn(file, "")...)
	})
	return titles, err
}

// ComputedSpecs returns patterns of the titles of specs that are computed by fmt.Sprintf or by a concatenation, and of
// tables of specs, without the texts of their containers. A pattern matches any text for the parts that are not
// literal, and for the entry of a table.
func ComputedSpecs(folder string) ([]*regexp.Regexp, error) {
	var patterns []*regexp.Regexp
	err := eachTestFile(folder, func(file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			name, _ := call.Fun.(*ast.Ident)
			if name == nil || name.Name != "It" && name.Name != "Entry" && name.Name != "DescribeTable" {
				return true
			}
			pattern := patternOf(call.Args[0])
			if name.Name == "DescribeTable" {
				pattern += anyText
			}
			if strings.Contains(pattern, anyText) && strings.Trim(pattern, anyText) != "" {
				patterns = append(patterns, regexp.MustCompile("^"+pattern+"$"))
			}
			return true
		})
	})
	return patterns, err
}

// anyText is the part of a pattern for a value that is not literal.
const anyText = ".*"

var formatVerb = regexp.MustCompile(`%[a-z]`)

// patternOf returns a regular expression for the values of an expression.
func patternOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return regexp.QuoteMeta(text)
		}
	case *ast.BinaryExpr:
		return patternOf(e.X) + patternOf(e.Y)
	case *ast.CallExpr:
		if function, ok := e.Fun.(*ast.SelectorExpr); ok && function.Sel.Name == "Sprintf" {
			return formatVerb.ReplaceAllLiteralString(patternOf(e.Args[0]), anyText)
		}
	}
	return anyText
}

// eachTestFile calls use with each parsed test file of a folder and its sub-folders.
func eachTestFile(folder string, use func(*ast.File)) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			use(file)
		}
		return err
	})
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
		text, ok := literalText(call.Args[0])
		if name == nil || !ok {
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

// literalText returns the value of an expression of literals, which is written in several parts if the line is long.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		first, firstOK := literalText(e.X)
		second, secondOK := literalText(e.Y)
		return first + second, firstOK && secondOK && e.Op == token.ADD
	}
	return "", false
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

var (
	remark   = regexp.MustCompile(` \(and .*\)$`)
	ofOthers = regexp.MustCompile(`(^|\. |; )\*operator\*: `)
)

// Unnamed returns the titles in a cell of a table for which exists returns false. The titles are separated by
// semicolons, and may contain semicolons. The shortest title that exists is taken, because the pattern of a table of
// specs also matches what follows its title. The mark *operator* before a title, and a remark in parentheses after a
// title, such as "(and each other kind)", do not count. A cell that begins with code names no specs.
func Unnamed(cell string, exists func(title string) bool) []string {
	if strings.HasPrefix(cell, "`") {
		return nil
	}
	cell = strings.TrimPrefix(ofOthers.ReplaceAllString(cell, "; "), "; ")
	pieces, unnamed := strings.Split(cell, "; "), []string(nil)
	for len(pieces) > 0 {
		end := 1
		for end <= len(pieces) && !exists(remark.ReplaceAllString(strings.Join(pieces[:end], "; "), "")) {
			end++
		}
		if end > len(pieces) {
			unnamed, end = append(unnamed, remark.ReplaceAllString(pieces[0], "")), 1
		}
		pieces = pieces[end:]
	}
	return unnamed
}
