package expression

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/fairlead-io/fairlead/internal/bounded"
)

// newEnvironment returns the environment of a scope. The extension of cel-go for strings is left out, because replace,
// join and format can multiply the size of a text. The extension for sets is left out, because a single call compares
// each element with each other element, and no limit interrupts a call.
func newEnvironment(scope Scope) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(MaxLength),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		library.Lists(), library.Regex(), library.URLs(), library.Quantity(), library.IP(), library.CIDR(),
		library.SemverLib(),
		cel.Function("lowerAscii", textFunction("lower_ascii", lowerASCII)),
		cel.Function("trim", textFunction("trim", trim)),
		cel.Function("split", cel.MemberOverload("split", []*cel.Type{cel.StringType, cel.StringType},
			cel.ListType(cel.StringType), cel.BinaryBinding(split))),
	}
	for _, name := range scope.Variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	if served := scope.Served; served != nil {
		options = append(
			options,
			cel.Function(functionServed, cel.Overload("served_string", []*cel.Type{cel.StringType}, cel.BoolType,
				cel.UnaryBinding(func(kind ref.Val) ref.Val {
					ok, err := served(textOf(kind))
					if err != nil {
						return types.WrapErr(err)
					}
					return types.Bool(ok)
				}))),
		)
	}
	return cel.NewEnv(options...)
}

// variablesOf returns those variables that the expression reads, in ascending order.
func variablesOf(root ast.NavigableExpr, variables []string) []string {
	var used []string
	for _, e := range ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)) {
		if name := e.AsIdent(); slices.Contains(variables, name) && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	slices.Sort(used)
	return used
}

// fieldsOf returns the fields of a variable that the expression reads, in ascending order. It returns an error if the
// variable is used in another way than by the name of a field.
func fieldsOf(root ast.NavigableExpr, variable string) (fields []string, id int64, err error) {
	for _, e := range ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)) {
		if variable == "" || e.AsIdent() != variable {
			continue
		}
		parent, ok := e.Parent()
		if !ok || parent.Kind() != ast.SelectKind || parent.AsSelect().IsTestOnly() {
			return nil, e.ID(), fmt.Errorf("%s can only be read by name, as in %s.host, without has() and without ?: the "+
				"condition has no value while a value is missing", variable, variable)
		}
		if name := parent.AsSelect().FieldName(); !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields, 0, nil
}

// checkPatterns returns an error if a regular expression is not a literal, or is too large. A pattern from a variable
// could take long to compile. The id is that of the call.
func checkPatterns(root ast.NavigableExpr) (id int64, err error) {
	for _, function := range []string{"matches", "find", "findAll"} {
		for _, call := range ast.MatchDescendants(root, ast.FunctionMatcher(function)) {
			arguments := call.AsCall().Args()
			position := 0
			if !call.AsCall().IsMemberFunction() {
				position = 1
			}
			if len(arguments) <= position || arguments[position].Kind() != ast.LiteralKind {
				return call.ID(), fmt.Errorf("the pattern of %s must be a literal, such as '^v[0-9]+$'", function)
			}
			pattern, _ := arguments[position].AsLiteral().Value().(string)
			if _, err := bounded.Pattern(pattern); err != nil {
				return call.ID(), fmt.Errorf("the pattern of %s: %w", function, err)
			}
		}
	}
	return 0, nil
}

// parsesQuantities reports whether an expression parses quantities.
func parsesQuantities(root ast.NavigableExpr) bool {
	return len(ast.MatchDescendants(root, ast.FunctionMatcher("quantity")))+
		len(ast.MatchDescendants(root, ast.FunctionMatcher("isQuantity"))) > 0
}
