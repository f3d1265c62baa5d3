package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// path is a selection of a value in a variable. The first element is the variable; each other element is the name of a
// field, as a string, or an index in a list, as an int64.
type path []any

// maxPaths is the maximum number of values in the result of Seen.
const maxPaths = 3

// pathsOf returns the longest selections of values in variables, such as self.status.phase.
func pathsOf(root ast.NavigableExpr) []path {
	local := localVariables(root)
	var found []path
	for _, e := range ast.MatchDescendants(root, ast.AllMatcher()) {
		if parent, ok := e.Parent(); ok && pathOf(parent) != nil {
			continue
		}
		p := pathOf(e)
		if len(p) < 2 || slices.Contains(local, p[0]) {
			continue
		}
		if !slices.ContainsFunc(found, func(other path) bool { return slices.Equal(p, other) }) {
			found = append(found, p)
		}
	}
	return found
}

// localVariables returns the variables that the expression declares itself, such as c in list.exists(c, c.ready).
func localVariables(root ast.NavigableExpr) []any {
	var names []any
	for _, e := range ast.MatchDescendants(root, ast.KindMatcher(ast.ComprehensionKind)) {
		c := e.AsComprehension()
		names = append(names, c.IterVar(), c.IterVar2(), c.AccuVar())
	}
	return names
}

// pathOf returns the path of an expression, or nil if the expression is no selection with literal names and indexes.
func pathOf(e ast.Expr) path {
	switch e.Kind() {
	case ast.IdentKind:
		return path{e.AsIdent()}
	case ast.SelectKind:
		return extended(e.AsSelect().Operand(), e.AsSelect().FieldName())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			if key := call.Args()[1]; key.Kind() == ast.LiteralKind {
				return extended(call.Args()[0], key.AsLiteral().Value())
			}
		}
	case ast.UnspecifiedExprKind, ast.ComprehensionKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind:
	}
	return nil
}

// extended returns the path of an expression with one more element, or nil if one of them is no part of a path.
func extended(e ast.Expr, element any) path {
	switch element.(type) {
	case string, int64:
		if p := pathOf(e); p != nil {
			return append(p, element)
		}
	}
	return nil
}

// value returns the value of the path.
func (p path) value(variables map[string]any) (value any, found bool) {
	value = variables
	for _, element := range p {
		switch key := element.(type) {
		case string:
			object, _ := value.(map[string]any)
			value, found = object[key]
		case int64:
			list, _ := value.([]any)
			if found = key >= 0 && key < int64(len(list)); found {
				value = list[key]
			}
		}
		if !found {
			return nil, false
		}
	}
	return value, true
}

// identifier matches the names that need no quotes after a period.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// String returns the path as an expression, such as self.status.hosts[0].ip or self.metadata.labels["app"].
func (p path) String() string {
	var text strings.Builder
	for i, element := range p {
		name, isName := element.(string)
		switch {
		case i == 0:
			text.WriteString(name)
		case isName && identifier.MatchString(name):
			text.WriteString("." + name)
		case isName:
			fmt.Fprintf(&text, "[%q]", name)
		default:
			fmt.Fprintf(&text, "[%d]", element)
		}
	}
	return text.String()
}

// dotted returns the elements of the path with periods between them.
func (p path) dotted() string {
	elements := make([]string, len(p))
	for i, element := range p {
		elements[i] = fmt.Sprint(element)
	}
	return strings.Join(elements, ".")
}

// Seen describes the values that the expression read, for messages: self.status.phase is "Pending". It has at most
// three scalar values. It must not be shown for objects with secret values.
func (p *Program) Seen(variables map[string]any) string {
	return p.SeenWithout(variables, func(string) bool { return false })
}

// SeenWithout describes the values that the expression read, as Seen does. It leaves out the paths that are hidden. The
// elements of a path have periods between them, such as parameters.password.
func (p *Program) SeenWithout(variables map[string]any, hidden func(path string) bool) string {
	var texts []string
	for _, selected := range p.paths {
		if hidden(selected.dotted()) {
			continue
		}
		value, found := selected.value(variables)
		switch v := value.(type) {
		case map[string]any, []any:
			continue
		case string:
			value = fmt.Sprintf("%q", shorten(v))
		}
		switch {
		case !found:
			value = "not set"
		case value == nil:
			value = "null"
		}
		if texts = append(texts, fmt.Sprintf("%s is %v", selected, value)); len(texts) == maxPaths {
			break
		}
	}
	return strings.Join(texts, ", ")
}
