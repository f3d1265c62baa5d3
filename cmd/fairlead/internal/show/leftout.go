package show

import (
	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// LeftOut is an object of the rendering that is not applied, because its condition include-when or active-when is
// false.
type LeftOut struct {
	Dependent string `json:"dependent"`
	// Reason is Excluded (include-when) or Inactive (active-when).
	Reason string `json:"reason"`
	// Message contains the condition and the values that it read. It never contains values of Secrets.
	Message string `json:"message"`
}

// leftOutOf converts reports on objects that are left out.
func leftOutOf(reports []metav1alpha1.DependentReport) []LeftOut {
	var leftOut []LeftOut
	for _, r := range reports {
		leftOut = append(leftOut, LeftOut{Dependent: r.Dependent, Reason: r.Reason, Message: r.Message})
	}
	return leftOut
}

// leftOutTable returns the table of the objects that are left out, after an empty line. It is empty if there are none.
func leftOutTable(p terminal.Palette, leftOut []LeftOut) []string {
	if len(leftOut) == 0 {
		return nil
	}
	rows := [][]cell{titled("LEFT OUT", "REASON", "MESSAGE")}
	for _, l := range leftOut {
		rows = append(rows, row(l.Dependent, l.Reason, l.Message))
	}
	return append([]string{""}, columns(p, rows)...)
}
