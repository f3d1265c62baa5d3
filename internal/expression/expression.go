package expression

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/utils/lru"
)

// Limits of an expression.
const (
	// MaxLength is the maximum length of the text, in bytes.
	MaxLength = 2048
	// maxCost is a tenth of the limit of the API server for one call: a few milliseconds.
	maxCost = 100_000
	// maxTime ends an evaluation whose cost is too low for its time.
	maxTime = time.Second
	// maxNesting bounds the recursion of the parser.
	maxNesting = 64
)

// functionServed is the name of the function that Scope.Served permits.
const functionServed = "served"

// Scope is the environment of an expression.
type Scope struct {
	// Variables are the names of the variables, in ascending order.
	Variables []string
	// ByName is the variable whose fields are read by their names only, as in exports.host; empty for none. So the fields
	// that an expression reads are known, and a missing field is always an error, which has() would hide.
	ByName string
	// Served permits the function served, which reports whether the cluster serves a type: served("Kind.group").
	Served func(kind string) (bool, error)
}

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	text    string
	info    *ast.SourceInfo
	program cel.Program
	// used are the variables that the expression reads, in ascending order.
	used []string
	// fields are the fields of Scope.ByName that the expression reads, in ascending order.
	fields []string
	// paths are the field selections of the expression, such as self.status.phase.
	paths []path
	// quantities is set if the expression parses quantities.
	quantities bool
}

// cached is the number of compiled programs in the cache, which contains only programs without functions of the caller.
const cached = 1024

var programs = lru.New(cached)

// Compile compiles an expression. The error says what is wrong, and at which position.
func Compile(text string, scope Scope) (*Program, error) {
	if !strings.Contains(text, functionServed) {
		scope.Served = nil
	}
	key := strings.Join(scope.Variables, ",") + "\x00" + scope.ByName + "\x00" + text
	if found, _ := programs.Get(key); found != nil && scope.Served == nil {
		if p, ok := found.(*Program); ok {
			return p, nil
		}
	}
	p, err := compile(text, scope)
	if err == nil && scope.Served == nil {
		programs.Add(key, p)
	}
	return p, err
}

func compile(text string, scope Scope) (*Program, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the expression is empty")
	case len(text) > MaxLength:
		return nil, fmt.Errorf("the expression has %d bytes; the limit is %d", len(text), MaxLength)
	}
	env, err := newEnvironment(scope)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(text), err)
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("expression %q: %s", shorten(text), describe(issues))
	}
	root, info := ast.NavigateAST(checked.NativeRep()), checked.NativeRep().SourceInfo()
	if id, err := checkPatterns(root); err != nil {
		return nil, fmt.Errorf("expression %q: %s%w", shorten(text), position(info, id), err)
	}
	fields, id, err := fieldsOf(root, scope.ByName)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %s%w", shorten(text), position(info, id), err)
	}
	program, err := env.Program(checked, cel.CostLimit(maxCost), cel.CostTracking(costs{}),
		cel.InterruptCheckFrequency(1), cel.CustomDecorator(limitValue))
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(text), err)
	}
	return &Program{
		text:       text,
		info:       info,
		program:    program,
		used:       variablesOf(root, scope.Variables),
		fields:     fields,
		paths:      pathsOf(root),
		quantities: parsesQuantities(root),
	}, nil
}

// position returns the line and the column of a part of an expression, or an empty text if it is not known. Lines and
// columns begin with 1.
func position(info *ast.SourceInfo, id int64) string {
	at := info.GetStartLocation(id)
	if at.Line() < 1 {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: ", at.Line(), at.Column()+1)
}

// describe returns the errors of a compilation, each with its line and column. Lines and columns begin with 1.
func describe(issues *cel.Issues) string {
	var texts []string
	for _, e := range issues.Errors() {
		texts = append(
			texts,
			fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, shorten(e.Message)),
		)
	}
	return strings.Join(texts, "; ")
}

// String returns the text of the expression.
func (p *Program) String() string { return p.text }

// Shortened returns the text of the expression in a single line, for messages. A long text is cut.
func (p *Program) Shortened() string { return shorten(p.text) }

// Variables returns the variables that the expression reads, in ascending order.
func (p *Program) Variables() []string { return slices.Clone(p.used) }

// Fields returns the fields of Scope.ByName that the expression reads, in ascending order.
func (p *Program) Fields() []string { return slices.Clone(p.fields) }

// Value returns the value of the expression as JSON value: nil, bool, int64, float64, string, []any or map[string]any.
// Unsigned integers become int64, timestamps and durations become strings. The error is a Missing error if the
// expression reads a field that does not exist.
func (p *Program) Value(ctx context.Context, variables map[string]any) (any, error) {
	if p.quantities && hasLongText(variables, 0) {
		return nil, fmt.Errorf("expression %q: an input has a text of more than %d bytes, so quantities are not parsed",
			shorten(p.text), maxQuantityInput)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("expression %q is not evaluated: %w", shorten(p.text), context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	result, _, err := p.program.ContextEval(ctx, variables)
	if err != nil && ctx.Err() != nil {
		return nil, interrupted{fmt.Errorf("expression %q: its evaluation takes too long", shorten(p.text))}
	}
	if err != nil {
		return nil, p.failure(err)
	}
	value, err := toJSON(result)
	if err != nil {
		return nil, p.failure(err)
	}
	return value, nil
}

// Bool returns the value of an expression that must be true or false. See Value for the errors.
func (p *Program) Bool(ctx context.Context, variables map[string]any) (bool, error) {
	value, err := p.Value(ctx, variables)
	if err != nil {
		return false, err
	}
	holds, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf(
			"expression %q: the value is %s; true or false is expected",
			shorten(p.text),
			kindOf(value),
		)
	}
	return holds, nil
}

// missing is the error of an expression that reads a field that does not exist.
type missing struct{ error }

// IsMissing reports whether an expression has no value because it reads a field that does not exist.
func IsMissing(err error) bool {
	var m missing
	return errors.As(err, &m)
}

// interrupted is the error of an expression whose evaluation was ended because of its time.
type interrupted struct{ error }

// IsInterrupted reports whether an evaluation was ended because of its time. A busy machine can be the reason, so
// another evaluation may succeed.
func IsInterrupted(err error) bool {
	var i interrupted
	return errors.As(err, &i)
}

// Missing field errors of cel-go have no type, so they are recognised by their texts.
var missingTexts = []string{"no such key", "index out of bounds", "no such attribute"}

func (p *Program) failure(err error) error {
	text, at := err.Error(), ""
	if located, ok := errors.AsType[*types.Err](err); ok {
		at = position(p.info, located.NodeID())
	}
	wrapped := fmt.Errorf("expression %q: %s%s", shorten(p.text), at, shorten(text))
	for _, prefix := range missingTexts {
		if strings.HasPrefix(text, prefix) {
			return missing{wrapped}
		}
	}
	return wrapped
}
