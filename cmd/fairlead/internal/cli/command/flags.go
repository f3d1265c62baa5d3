package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/egress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// AddOutputFlag adds --output with the known formats.
func AddOutputFlag(cmd *cobra.Command, output *string, known []show.Format) {
	cmd.Flags().StringVarP(output, "output", "o", "", show.Names(known)+"; a table by default")
	names := make([]string, 0, len(known))
	for _, format := range known {
		names = append(names, string(format))
	}
	completion.Values(cmd, "output", names...)
}

// AddCallFunctionsFlag adds --call-functions to the flags of a command that renders components of a cluster.
func AddCallFunctionsFlag(flags *pflag.FlagSet, call *bool) {
	flags.BoolVar(call, egress.FlagCallFunctions, false,
		"call the function of the component, at the address in the component, as the identity of the component")
}

// AddInputFlag adds --input to the flags of a command that renders a component of a cluster.
func AddInputFlag(flags *pflag.FlagSet, inputs *[]string) {
	flags.StringArrayVar(inputs, "input", nil,
		"value of an input in spec.inputs, as NAME=FILE with JSON or YAML; may be repeated; - is stdin")
}
