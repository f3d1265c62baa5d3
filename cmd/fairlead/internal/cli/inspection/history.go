package inspection

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const historyHelp = `Show the last ten revisions of the component NAME, the newest last, each with the time and
duration of the apply, the outcome, the source with its version, and the values that differ from those of the revision
before. Values from Secrets are named, not shown. If the inputs changed while no operator ran, the values were not
compared. -o wide shows all changes, the generation and the digests.

Changed inputs make a new revision if they can be rendered. Inputs that cannot be rendered are shown as Failed,
without a number, and the dependents stay unchanged. Rendered objects are not stored. To go back to an earlier
revision, apply its source and values again.`

// historyFormats does not contain the format name, because revisions are not objects.
var historyFormats = []show.Format{show.FormatWide, show.FormatJSON, show.FormatYAML}

// historyOptions are the flags of history, and what it works with.
type historyOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
}

// NewHistory returns the command history.
func NewHistory(base command.Base) *cobra.Command {
	o := &historyOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "history NAME | TYPE/NAME",
		Short: "Show the last revisions of a component",
		Long:  historyHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, historyFormats)
			if err != nil {
				return err
			}
			return o.run(ctx, args[0], out)
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	command.AddOutputFlag(cmd, &o.output, historyFormats)
	return cmd
}

func (o *historyOptions) run(ctx context.Context, name string, out show.Output) error {
	f, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	status, err := cluster.StatusIfAny(f.Target, f.Live)
	if err != nil {
		return err
	}
	if len(status.History) == 0 && !out.Structured() {
		return o.tellEmpty(f.Target, status.Revision)
	}
	return show.NewHistory(f.Live, status).Print(out, time.Now())
}

// tellEmpty says that the history is empty. An earlier version of the operator did not enter all revisions.
func (o *historyOptions) tellEmpty(target cluster.Target, revision int64) error {
	if revision == 0 {
		_, err := fmt.Fprintf(o.ErrOut, "%s has no revisions yet.\n", target)
		return err
	}
	_, err := fmt.Fprintf(o.ErrOut, "%s has revision %d, but its history is empty. It begins with the next revision.\n",
		target, revision)
	return err
}
