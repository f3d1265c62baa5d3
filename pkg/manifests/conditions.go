package manifests

import "github.com/fairlead-io/fairlead/internal/expression"

// Conditions are the conditions of an object in CEL. An empty condition is always true.
type Conditions struct {
	// Include decides whether the object belongs to the component.
	Include string
	// Active decides whether the object is applied.
	Active string
	// Exports are the names of the exports that the conditions read, in ascending order.
	Exports []string
}

// ReadyWhen is a parsed condition of an object: an expression, or the name of a condition that is written in Go. The
// zero value is no condition.
type ReadyWhen struct {
	// Expression is a CEL expression over the variable self, the live object.
	Expression *expression.Program
	// Name is the name of a condition in Go, without the prefix go/.
	Name string
}

// ReadsExports reports whether a condition of the object reads values that other objects export.
func (o Object) ReadsExports() bool {
	return o.Settings.Conditions != nil && len(o.Settings.Conditions.Exports) > 0
}
