package command

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/values"
)

// Console contains the streams of a command. Each output ends the display of the current work of the command.
type Console struct {
	genericiooptions.IOStreams
	// stdout is the writer to which Out writes.
	stdout *terminal.Writer
	// activity shows the current work of the command until the command prints output.
	activity *progress.Activity
	// noColor turns colours off even on a terminal.
	noColor bool
}

// NewConsole returns a console that reads and writes the streams.
func NewConsole(streams genericiooptions.IOStreams) *Console {
	activity := progress.NewActivity(streams.ErrOut)
	c := &Console{IOStreams: streams, activity: activity, stdout: terminal.NewWriter(streams.Out)}
	c.Out, c.ErrOut = activity.Before(c.stdout), activity.Before(streams.ErrOut)
	return c
}

// AddFlags adds the flags of the console.
func (c *Console) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.noColor, "no-color", false,
		"print no colours; without a terminal, or with NO_COLOR, this is the default")
}

// Begin says what the command does now. On a terminal it is shown until the command prints output.
func (c *Console) Begin(work string) { c.activity.Begin(work) }

// End removes the display of the current work. It is called once the command has ended.
func (c *Console) End() { c.activity.End() }

// Lost returns the error because of which output was lost, or nil.
func (c *Console) Lost() error { return c.stdout.Err() }

// OnLoss calls a function when output is lost.
func (c *Console) OnLoss(do func()) { c.stdout.OnFail(do) }

// Println prints a line of the output.
func (c *Console) Println(line string) { _, _ = fmt.Fprintln(c.Out, terminal.Clean(line)) }

// Tell prints a line on stderr.
func (c *Console) Tell(line string) { _, _ = fmt.Fprintln(c.ErrOut, terminal.Clean(line)) }

// Warn prints an error after which the command continues.
func (c *Console) Warn(err error) {
	_, _ = fmt.Fprintf(c.ErrOut, "warning: %s\n", terminal.Clean(exit.Line(err)))
}

// WarnOf prints texts as warnings.
func (c *Console) WarnOf(texts []string) {
	for _, text := range texts {
		c.Warn(errors.New(text))
	}
}

// Palette returns the colours of the output.
func (c *Console) Palette() terminal.Palette { return terminal.NewPalette(c.Out, c.noColor) }

// Output returns the output in the format of the flag --output.
func (c *Console) Output(text string, known []show.Format) (show.Output, error) {
	format, err := show.ParseFormat(text, known)
	if err != nil {
		return show.Output{}, exit.BadUsage("%w", err)
	}
	return show.Output{Writer: c.Out, Format: format, Palette: c.Palette()}, nil
}

// Inputs reads the values of inputs of a component, as the flag --input has them. The key is the name of the input.
func (c *Console) Inputs(assignments []string) (map[string]any, error) {
	inputs, err := values.Inputs(assignments, c.In)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	given, err := values.ByName(inputs)
	if err != nil {
		return nil, exit.BadUsage("%w", err)
	}
	return given, nil
}

// ValueOptions returns the options of the values of a command, without files and assignments.
func (c *Console) ValueOptions() values.Options { return values.Options{Stdin: c.In, Warn: c.Warn} }
