package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// path is a selection of fields of a variable. The first element is the variable.
type path []string

// maxPaths is the maximum number of values in the result of Seen.
const maxPaths = 3

// pathsOf returns the longest selections of fields, such as self.status.phase.
func pathsOf(root ast.NavigableExpr) []path {
	var found []path
	for _, e := range ast.MatchDescendants(root, ast.KindMatcher(ast.SelectKind)) {
		if parent, ok := e.Parent(); ok && parent.Kind() == ast.SelectKind {
			continue
		}
		if p := pathOf(
			e,
		); p != nil &&
			!slices.ContainsFunc(found, func(other path) bool { return slices.Equal(p, other) }) {
			found = append(found, p)
		}
	}
	return found
}

func pathOf(e ast.Expr) path {
	switch e.Kind() {
	case ast.IdentKind:
		return path{e.AsIdent()}
	case ast.SelectKind:
		if p := pathOf(e.AsSelect().Operand()); p != nil {
			return append(p, e.AsSelect().FieldName())
		}
	case ast.UnspecifiedExprKind,
		ast.CallKind,
		ast.ComprehensionKind,
		ast.ListKind,
		ast.LiteralKind,
		ast.MapKind,
		ast.StructKind:
	}
	return nil
}

// Seen describes the values that the expression read, for messages: self.status.phase is "Pending". It has at most
// three scalar values. It must not be shown for objects with secret values.
func (p *Program) Seen(variables map[string]any) string {
	return p.SeenWithout(variables, func(string) bool { return false })
}

// SeenWithout describes the values that the expression read, as Seen does. It leaves out the paths that are hidden,
// such as parameters.password.
func (p *Program) SeenWithout(variables map[string]any, hidden func(path string) bool) string {
	var texts []string
	for _, fields := range p.paths {
		if hidden(strings.Join(fields, ".")) {
			continue
		}
		value, found := any(variables), true
		for _, name := range fields {
			object, ok := value.(map[string]any)
			if value, found = object[name]; !ok || !found {
				found = false
				break
			}
		}
		name := strings.Join(fields, ".")
		switch v := value.(type) {
		case map[string]any, []any:
			continue
		case string:
			value = fmt.Sprintf("%q", shorten(v))
		}
		if !found {
			value = "not set"
		}
		if texts = append(texts, fmt.Sprintf("%s is %v", name, value)); len(texts) == maxPaths {
			break
		}
	}
	return strings.Join(texts, ", ")
}
