package show

import "github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"

// Operator says why a status may be old. It is part of a result only if no operator serves the component, or if this
// was not checked.
type Operator struct {
	// State is Absent, if no operator serves the component, or NotChecked.
	State string `json:"state"`
	// Message says why.
	Message string `json:"message"`
}

// operatorAbsent is the state of an operator that does not serve a component.
const operatorAbsent = "Absent"

func (o Operator) tone() terminal.Tone {
	if o.State == operatorAbsent {
		return terminal.Bad
	}
	return terminal.Faint
}
