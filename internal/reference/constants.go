package reference

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Constant is a string constant.
type Constant struct {
	Name, Type, Value string
	// Meaning is the comment of the constant without the name of the constant.
	Meaning string
}

// Constants reads the string constants of a Go file, in the order of the file. Each constant must have a comment that
// begins with its name.
func Constants(path string) ([]Constant, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []Constant
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			c, err := constantOf(general, spec)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
			}
			if c != nil {
				found = append(found, *c)
			}
		}
	}
	return found, nil
}

// constantOf returns nil for a constant that is not exported, or not a string.
func constantOf(group *ast.GenDecl, spec ast.Spec) (*Constant, error) {
	value, ok := spec.(*ast.ValueSpec)
	if !ok || len(value.Names) != 1 || len(value.Values) != 1 || !value.Names[0].IsExported() {
		return nil, nil
	}
	literal, ok := value.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil, nil
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return nil, err
	}
	c := &Constant{Name: value.Names[0].Name, Value: text}
	if name, ok := value.Type.(*ast.Ident); ok {
		c.Type = name.Name
	}
	comment := value.Doc.Text()
	if comment == "" && !group.Lparen.IsValid() {
		comment = group.Doc.Text()
	}
	meaning, found := strings.CutPrefix(oneLine(comment), c.Name)
	if !found {
		return nil, fmt.Errorf("%s has no comment that begins with its name", c.Name)
	}
	meaning = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(meaning, "."), ":"))
	c.Meaning = strings.TrimPrefix(meaning, "is ")
	return c, nil
}

var word = regexp.MustCompile(`\w+`)

// Rows returns a row for each constant whose name has a prefix. The row contains the value as code and the meaning, in
// which the names of constants are replaced by their values, as code: a reader of the page writes YAML.
func Rows(constants []Constant, prefix string) [][]string {
	values := map[string]string{}
	for _, c := range constants {
		values[c.Name] = Code(c.Value)
	}
	valued := func(word string) string { return cmp.Or(values[word], word) }
	var rows [][]string
	for _, c := range constants {
		if strings.HasPrefix(c.Name, prefix) {
			rows = append(rows, []string{Code(c.Value), word.ReplaceAllStringFunc(Prose(c.Meaning), valued)})
		}
	}
	return rows
}
