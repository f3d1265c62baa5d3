package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const planHelp = `Show the writes that the operator would make for the component NAME, and write nothing.

If -f names the manifest of a Component, the command shows what would follow an apply of this manifest, with DIR,
ARCHIVE or URL as the source, or else with the source in the manifest. The component need not exist.

With DIR, ARCHIVE or URL the command shows the writes that would follow fairlead apply with the same source and
flags. Without it, the command shows the writes that the operator has not made yet for the component in the
cluster. With --delete it shows the objects that a deletion of the component would remove, their order, and the
blockers of the deletion. For a component of the ready-made operator it also shows the rights that the deletion
needs, and that the service account of the component or the operator lacks. To check them you must be allowed to
create SubjectAccessReviews. The rights of the operator are checked if it has the Deployment of its chart.

Steps with the same TURN run at the same time. The next turn starts when the created and updated objects of the turn
before are ready, and its deleted objects do not exist any more. The actions are:

    create    the object is written
    update    the object is written; WHY names the changed fields, not values
    recreate  the object is deleted and written again
    adopt     the object exists, and the component becomes its owner; the plan
              lists who has it, and which of its values get lost
    purge     the object is deleted at its purge order
    prune     the object is deleted, because it is no longer rendered
    delete    the object is deleted, because the component is deleted
    release   the object stays, and does not belong to the component any more

Only the operator knows the values of spec.inputs that are polled: without --input NAME=FILE for each of them,
there is no plan, and the exit code is 2. Objects in spec.inputs are read with your rights. If you may not read one,
the exit code is 3. The same flag gives the value of such an object, or shows what would follow another value.

The command applies the same rules as the operator with its default options, and reads with your rights. For a
component with a function or a kubeconfig, it reads as the identity of the component, which you must be allowed to
impersonate. It calls a function only with --call-functions, because the author of the component chose its address.
Without this flag the exit code is 2, and the error contains the address and what the command would send.

It sends each write to the API server as a dry run, to check that the API server accepts it. A step is not checked
if its dry run is not possible, or does not predict the write. That is so if the namespace, the definition of the
type, or a mutating webhook is created or changed before, if you lack the right for the write, and if the object
belongs to an aggregated API that does not declare dry runs. Nobody but the operator asks dependents outside
Kubernetes, so their steps are not checked. "Not asked" lists the objects that bind values of such dependents, if
the values are not stored. A step that is not checked does not change the exit code.

The exit code is 1 if a step cannot be made before somebody acts: the API server would refuse a write, nobody serves
the type of an object, foreign instances or finalizers of others block the deletion, or rights for the deletion are
missing. If the operator would do nothing, for example because the source does not render, the exit code is 2 with a
source on the command line, and 1 without one. For a component of another operator, only --delete is possible, because
only that operator has the generator.`

// planOptions are the flags of plan, and what it works with.
type planOptions struct {
	*command.Console
	preview previewOptions
	output  string
}

// NewPlan returns the command plan.
func NewPlan(base command.Base) *cobra.Command {
	o := &planOptions{Console: base.Console, preview: newPreviewOptions(base)}
	cmd := &cobra.Command{
		Use:   "plan NAME [DIR|ARCHIVE|URL]",
		Short: "Show the writes that the operator would make for a component",
		Long:  planHelp,
		Args:  o.preview.takes,
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, show.Documents)
			if err != nil {
				return err
			}
			if args, err = o.preview.takeManifest(args); err != nil {
				return err
			}
			return o.run(ctx, args, out)
		}),
		ValidArgsFunction: base.Completer.ComponentAndSource,
	}
	o.preview.addTo(cmd)
	cmd.Flags().BoolVar(&o.preview.deletion, "delete", false, "show the effects of a deletion of the component")
	command.AddOutputFlag(cmd, &o.output, show.Documents)
	return cmd
}

func (o *planOptions) run(ctx context.Context, args []string, out show.Output) error {
	p, err := o.preview.forecast(ctx, args, o.Console)
	if err != nil {
		return err
	}
	shown := show.NewPlan(p.Component, p.Forecast, p.Deletion)
	shown.Locate(p.Forecast, p.Places.Of)
	shown.AddPermissible(p.Permissible)
	shown.MissingRights = p.Rights.Missing
	if p.Rights.Hint != "" {
		o.Warn(errors.New(p.Rights.Hint))
	}
	if lost := p.Forecast.LostPhases; lost != "" {
		o.Warn(fmt.Errorf("%s; the operator writes the record again when it next renders the component", lost))
	}
	if shown.Readers = p.Readers; p.ReadersUnknown != nil {
		o.Warn(readers.Unknown(p.ReadersUnknown))
	}
	if err := shown.Print(out); err != nil {
		return err
	}
	if n := len(p.Adoptions); len(args) == 2 && n > 0 && !o.preview.spec.adopt {
		o.Warn(fmt.Errorf("fairlead apply takes over existing objects (%d) only with --adopt", n))
	}
	if err := p.Unreadable(); err != nil {
		return err
	}
	if shown.IsHindered() {
		return exit.RefuseShown("%s: a step of the plan cannot be made", p.Target)
	}
	return nil
}
