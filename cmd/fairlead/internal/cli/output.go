package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/screen"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// addOutputFlag lets a person choose among formats.
func addOutputFlag(cmd *cobra.Command, output *string, known []show.Format) {
	cmd.Flags().StringVarP(output, "output", "o", "", show.Names(known)+"; a table by default")
	names := make([]string, 0, len(known))
	for _, format := range known {
		names = append(names, string(format))
	}
	complete(cmd, "output", names...)
}

// output returns where and how a command shows what it found.
func (a *app) output(text string, known []show.Format) (show.Output, error) {
	format, err := show.ParseFormat(text, known)
	if err != nil {
		return show.Output{}, exit.BadUsage("%w", err)
	}
	return show.Output{Writer: a.Out, Format: format, Palette: a.palette()}, nil
}

// palette returns the colours of what is written to stdout.
func (a *app) palette() screen.Palette { return screen.NewPalette(a.Out, a.noColor) }
