package settingtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// conditions parses the conditions of a manifest; nil if it has none.
func (p *settingsParser) conditions() *manifests.Conditions {
	include, included := p.value(manifests.AnnotationIncludeWhen)
	active, activated := p.value(manifests.AnnotationActiveWhen)
	var exports []string
	if included {
		exports = p.compile(manifests.AnnotationIncludeWhen, include, expression.IncludeScope())
	}
	if activated {
		unused := func(schema.GroupKind) (bool, error) { return false, errors.New("not asked") }
		exports = append(exports, p.compile(manifests.AnnotationActiveWhen, active, expression.ActiveScope(unused))...)
	}
	if !included && !activated {
		return nil
	}
	slices.Sort(exports)
	return &manifests.Conditions{Include: include, Active: active, Exports: slices.Compact(exports)}
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

// conditionPrefix marks the name of a condition that is written in Go, as in go/rolled-out.
const conditionPrefix = "go/"

// conditionScope is the environment of conditions.
var conditionScope = expression.Scope{Variables: []string{"self"}}

// ParseReadyWhen parses the value of the annotation ready-when. An error names the position in the expression.
func ParseReadyWhen(text string) (manifests.ReadyWhen, error) {
	if name, ok := strings.CutPrefix(text, conditionPrefix); ok {
		if name == "" || strings.TrimSpace(name) != name {
			return manifests.ReadyWhen{}, fmt.Errorf("%q names no condition; write %s<name>", text, conditionPrefix)
		}
		return manifests.ReadyWhen{Name: name}, nil
	}
	program, err := compileOverSelf(text)
	return manifests.ReadyWhen{Expression: program}, err
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
	if text, ok := p.value(manifests.AnnotationGoneWhen); ok {
		if _, err := ParseGoneWhen(text); err != nil {
			p.fail(manifests.AnnotationGoneWhen, "%w", err)
		}
	}
}

func (p *settingsParser) readyWhen() manifests.ReadyWhen {
	text, ok := p.value(manifests.AnnotationReadyWhen)
	if !ok {
		return manifests.ReadyWhen{}
	}
	parsed, err := ParseReadyWhen(text)
	if err != nil {
		p.fail(manifests.AnnotationReadyWhen, "%w", err)
	}
	return parsed
}

// CheckConditionName returns an error if the condition is written in Go and its name is none of the known names. If
// known is nil, every name is accepted.
func CheckConditionName(r manifests.ReadyWhen, reconciler string, known []string) error {
	if r.Name == "" || known == nil || slices.Contains(known, r.Name) {
		return nil
	}
	list := "it has no conditions"
	if len(known) > 0 {
		list = "its conditions are " + conditionPrefix + strings.Join(known, ", "+conditionPrefix)
	}
	return errors.New("annotation " + reconciler + "/" + manifests.AnnotationReadyWhen + ": the reconciler has no condition " +
		conditionPrefix + r.Name + "; " + list)
}
