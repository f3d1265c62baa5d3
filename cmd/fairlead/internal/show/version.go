package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Versions are the versions of the program and of the operators in the cluster.
type Versions struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Client is the version of the program.
	Client string `json:"client"`
	// Operators are the operators that hold a Lease. There are none if only the version of the program was asked for.
	Operators []OperatorVersion `json:"operators,omitempty"`
}

// OperatorVersion is the version of an operator.
type OperatorVersion struct {
	// Namespace of the Lease of the operator.
	Namespace string `json:"namespace"`
	// Version is empty for an operator that is too old to publish it.
	Version string `json:"version,omitempty"`
}

// NewVersions returns the version of the program.
func NewVersions(client string) Versions {
	return Versions{APIVersion: SchemaVersion, Kind: "Versions", Client: client}
}

// Print writes the versions.
func (v Versions) Print(o Output) error {
	if o.Structured() {
		return o.write(v)
	}
	var text strings.Builder
	text.WriteString("Client Version: " + v.Client + "\n")
	for _, operator := range v.Operators {
		text.WriteString("Operator Version: " +
			terminal.Clean(cmp.Or(operator.Version, "unknown, because it is too old to publish its version")))
		if len(v.Operators) > 1 {
			text.WriteString(" in namespace " + terminal.Clean(operator.Namespace))
		}
		text.WriteString("\n")
	}
	_, err := fmt.Fprint(o, text.String())
	return err
}
