package manifests

import (
	"errors"
	"slices"

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
