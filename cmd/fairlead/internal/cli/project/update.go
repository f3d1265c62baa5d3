package project

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/internal/plural"
)

const scaffoldUpdateHelp = `Update a scaffolded project to the templates of this program, and keep your changes.

The folder .fairlead of the project contains a copy of the generated files, so that the command can distinguish your
changes from changes of the templates. It merges both in the way in which git merges branches. To update the
types of a chart's values, replace the files of the chart in the project, then run this command.

If you and the templates changed the same lines, the command lists the conflicts with file and line, and writes
nothing; its exit code is 1. With --keep-conflicts it writes all files, with conflict markers in them, and the exit
code is also 1. It does not create a file again that you deleted or renamed. A warning names such a file if its
template changed, because this change is not merged. git must be on the PATH. If Go or make fail after the merge,
the exit code is 1, and the output lists the remaining work.`

// updateOptions are the flags of scaffold update, and what it prints to.
type updateOptions struct {
	*command.Console
	fairleadDir   string
	keepConflicts bool
	dryRun        bool
}

func newUpdate(base command.Base) *cobra.Command {
	o := &updateOptions{Console: base.Console}
	cmd := &cobra.Command{
		Use:   "update [DIR]",
		Short: "Update a scaffolded project to new templates",
		Long:  scaffoldUpdateHelp,
		Args:  command.Takes(1),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			return o.run(ctx, append(args, ".")[0])
		}),
		ValidArgsFunction: completion.Folder,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.fairleadDir, "fairlead-dir", "",
		"checkout of Fairlead that the project requires instead of a release")
	flags.BoolVar(&o.keepConflicts, "keep-conflicts", false, "write merged files, with conflict markers")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the changes, and write nothing")
	return cmd
}

func (o *updateOptions) run(ctx context.Context, dir string) error {
	fairlead, err := scaffold.FindFairlead(o.fairleadDir)
	if err != nil {
		return exit.BadUsage("%w", err)
	}
	update, err := scaffold.UpdateProject(ctx, scaffold.UpdateRequest{
		Dir: dir, Fairlead: fairlead, KeepConflicts: o.keepConflicts, DryRun: o.dryRun, Report: o.Println,
	})
	o.WarnOf(update.Notes)
	unfinished, written := errors.AsType[*scaffold.UnfinishedError](err)
	if err != nil && !written {
		return exit.BadInput("%w", err)
	}
	o.list(update)
	if written {
		return exit.Refuse("%w", unfinished)
	}
	switch {
	case len(update.Conflicts) > 0 && o.keepConflicts && !o.dryRun:
		return exit.Refuse("conflicts are marked in the files (%d); resolve them", len(update.Conflicts))
	case len(update.Conflicts) > 0:
		return exit.Refuse("nothing was written because of %s; --keep-conflicts marks these in the files",
			plural.Of(len(update.Conflicts), "conflict"))
	case len(update.Changes) == 0:
		o.Println(dir + " is up to date")
	}
	return nil
}

// list lists the changes and conflicts.
func (o *updateOptions) list(update scaffold.Update) {
	for _, change := range update.Changes {
		o.Println(string(change.Verb) + " " + change.File)
	}
	for _, conflict := range update.Conflicts {
		o.Println("conflict " + conflict.String())
	}
}
