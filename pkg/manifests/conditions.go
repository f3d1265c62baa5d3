package manifests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
)

// Conditions are the conditions of an object in CEL. An empty condition is always true.
type Conditions struct {
	// Include decides whether the object belongs to the component.
	Include string
	// Active decides whether the object is applied.
	Active string
	// Exports are the names of the exports that the conditions read, in ascending order.
	Exports []string
}

// conditions parses the conditions of a manifest; nil if it has none.
func (p *settingsParser) conditions() *Conditions {
	include, included := p.value(AnnotationIncludeWhen)
	active, activated := p.value(AnnotationActiveWhen)
	var exports []string
	if included {
		exports = p.compile(AnnotationIncludeWhen, include, expression.IncludeScope())
	}
	if activated {
		unused := func(schema.GroupKind) (bool, error) { return false, errors.New("not asked") }
		exports = append(exports, p.compile(AnnotationActiveWhen, active, expression.ActiveScope(unused))...)
	}
	if !included && !activated {
		return nil
	}
	slices.Sort(exports)
	return &Conditions{Include: include, Active: active, Exports: slices.Compact(exports)}
}

// compile checks the expression of a condition, and returns the names of the exports that it reads.
func (p *settingsParser) compile(name, text string, scope expression.Scope) (exports []string) {
	program, err := expression.Compile(text, scope)
	if err != nil {
		p.fail(name, "%w", err)
		return nil
	}
	return program.Fields()
}

// ReadsExports reports whether a condition of the object reads values that other objects export.
func (o Object) ReadsExports() bool {
	return o.Settings.Conditions != nil && len(o.Settings.Conditions.Exports) > 0
}

// conditionPrefix marks the name of a condition that is written in Go, as in go/rolled-out.
const conditionPrefix = "go/"

// ReadyWhen is a parsed condition of an object: an expression, or the name of a condition that is written in Go. The
// zero value is no condition.
type ReadyWhen struct {
	// Expression is a CEL expression over the variable self, the live object.
	Expression *expression.Program
	// Name is the name of a condition in Go, without the prefix go/.
	Name string
}

// conditionScope is the environment of conditions.
var conditionScope = expression.Scope{Variables: []string{"self"}}

// ParseReadyWhen parses the value of the annotation ready-when. An error names the position in the expression.
func ParseReadyWhen(text string) (ReadyWhen, error) {
	if name, ok := strings.CutPrefix(text, conditionPrefix); ok {
		if name == "" || strings.TrimSpace(name) != name {
			return ReadyWhen{}, fmt.Errorf("%q names no condition; write %s<name>", text, conditionPrefix)
		}
		return ReadyWhen{Name: name}, nil
	}
	program, err := compileOverSelf(text)
	return ReadyWhen{Expression: program}, err
}

// compileOverSelf compiles an expression that must read the variable self.
func compileOverSelf(text string) (*expression.Program, error) {
	program, err := expression.Compile(text, conditionScope)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(program.Variables(), "self") {
		return nil, fmt.Errorf("expression %q: it does not read self, so its value never changes", text)
	}
	return program, nil
}

// ParseGoneWhen parses the value of the annotation gone-when: an expression over the variable self.
func ParseGoneWhen(text string) (*expression.Program, error) { return compileOverSelf(text) }

// goneWhen checks the condition gone-when. It is only read from live objects.
func (p *settingsParser) goneWhen() {
	if text, ok := p.value(AnnotationGoneWhen); ok {
		if _, err := ParseGoneWhen(text); err != nil {
			p.fail(AnnotationGoneWhen, "%w", err)
		}
	}
}

func (p *settingsParser) readyWhen() ReadyWhen {
	text, ok := p.value(AnnotationReadyWhen)
	if !ok {
		return ReadyWhen{}
	}
	parsed, err := ParseReadyWhen(text)
	if err != nil {
		p.fail(AnnotationReadyWhen, "%w", err)
	}
	return parsed
}

// CheckName returns an error if the condition is written in Go and its name is none of the known names. If known is
// nil, every name is accepted.
func (r ReadyWhen) CheckName(reconciler string, known []string) error {
	if r.Name == "" || known == nil || slices.Contains(known, r.Name) {
		return nil
	}
	list := "it has no conditions"
	if len(known) > 0 {
		list = "its conditions are " + conditionPrefix + strings.Join(known, ", "+conditionPrefix)
	}
	return errors.New("annotation " + reconciler + "/" + AnnotationReadyWhen + ": the reconciler has no condition " +
		conditionPrefix + r.Name + "; " + list)
}
