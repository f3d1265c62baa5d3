package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const historyHelp = `Show the last ten revisions of the component NAME, the newest last, each with the time
and duration of the apply, the outcome, the source with its version, and the values that differ from
those of the revision before. Values from Secrets are named, not shown.

Changed inputs make a new revision if they can be rendered. Inputs that cannot be rendered are shown as Failed,
without a number, and the dependents stay unchanged. Rendered objects are not stored. To go back to an earlier
revision, apply its source and values again.`

// historyFormats does not contain the format name, because revisions are not objects.
var historyFormats = []show.Format{show.FormatWide, show.FormatJSON, show.FormatYAML}

func (a *app) newHistory() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "history NAME | TYPE/NAME",
		Short: "Show the last revisions of a component",
		Long:  historyHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, historyFormats)
			if err != nil {
				return err
			}
			return a.history(ctx, args[0], out)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addOutputFlag(cmd, &output, historyFormats)
	return cmd
}

func (a *app) history(ctx context.Context, name string, out show.Output) error {
	f, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	status, err := cluster.StatusIfAny(f.Target, f.Live)
	if err != nil {
		return err
	}
	if len(status.History) == 0 && !out.Structured() {
		return a.noHistory(f.Target, status.Revision)
	}
	return show.NewHistory(f.Live, status).Print(out, time.Now())
}

// noHistory says that the history is empty. An earlier version of the operator did not enter all revisions.
func (a *app) noHistory(target cluster.Target, revision int64) error {
	if revision == 0 {
		_, err := fmt.Fprintf(a.ErrOut, "%s has no revisions yet.\n", target)
		return err
	}
	_, err := fmt.Fprintf(a.ErrOut, "%s has revision %d, but its history is empty. It begins with the next revision.\n",
		target, revision)
	return err
}
