package inspection

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/internal/plural"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

const treeHelp = `Show each dependent of the component NAME with its wave, readiness and message, in the order in
which the dependents are applied.

The command lists the dependents in the component's inventory, the dependents that the component waits for, and the
objects that it only observes. It reads their readiness from the live objects. A dependent that is missing or cannot
be read has a reason. A dependent that is ready, but whose last update failed, has the state NotUpdated. For
dependents that are not ready, the command shows the causes that Events, pods and other objects below them report,
as far as you may read these.

Fields that are left to others by rules (fairlead.io/ignore, spec.ignore) are listed as ignored, as the live
objects have these rules.

The states are Ready, NotUpdated, InProgress, Failed, Terminating, Completed, Missing and Unknown. If the status of
the component counts more ready dependents, because it is older, the first line shows both numbers. The reasons of a
missing or unreadable dependent are:

    NotFound       the recorded object does not exist
    NotCreated     the object was not created yet
    Replaced       an object of this name exists, with another UID
    NotRecorded    an object of this name exists, and the inventory does not
                   show that the operator wrote it
    Forbidden      you have no right to read the object
    KindNotServed  the API server does not serve the kind of the object
    NotRead        the object could not be read for another reason
    NotAsked       the object is outside Kubernetes, and the status does not
                   have its state

RepairConflict names another manager that changes a ready dependent again and again. DependencyNotReady,
ExportMissing and ConditionUndecided name what a dependent waits for. A dependent that depends on other objects has
them in the column DEPENDS ON and belongs to no wave. The table LEFT OUT has the objects whose condition
include-when or active-when is false.

The status lists ten objects at most of each kind, so the command shows ten at most. The state of a dependent
outside Kubernetes is the one that the operator reported last, or Unknown if the status does not list it.`

// treeOptions are the flags of tree, and what it works with.
type treeOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
}

// NewTree returns the command tree.
func NewTree(base command.Base) *cobra.Command {
	o := &treeOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "tree NAME | TYPE/NAME",
		Short: "Show the dependents of a component",
		Long:  treeHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, show.Formats)
			if err != nil {
				return err
			}
			return o.run(ctx, args[0], out)
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	command.AddOutputFlag(cmd, &o.output, show.Formats)
	return cmd
}

func (o *treeOptions) run(ctx context.Context, name string, out show.Output) error {
	f, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	status, err := cluster.Status(f.Target, f.Live)
	if err != nil {
		return err
	}
	inventory, unreadable := tree.Inventory(ctx, f.Cluster, &status)
	o.Begin("reading " + plural.Of(len(inventory), "dependent"))
	nodes, err := tree.Read(ctx, f.Cluster, inventory)
	if err != nil {
		return err
	}
	nodes, err = tree.AddObserved(ctx, f.Cluster, nodes, &status)
	if err != nil {
		return err
	}
	nodes = tree.AddFailures(tree.AddUnrecorded(nodes, status.Waiting), status.Waiting)
	nodes = tree.AddExternals(nodes, &status)
	printed := show.NewTree(f.Live, status, nodes)
	if status.TargetCluster == "" {
		printed.AddCauses(dependentcauses.OfNodes(ctx, f.Cluster, nodes))
	}
	operator := f.Cluster.Operator(ctx, f.Target)
	printed.Operator = command.ShownOperator(operator)
	command.WarnOfOperator(operator, o.Warn)
	if err := printed.Print(out); err != nil {
		return err
	}
	if unreadable != nil {
		return exit.Refuse("%s: the inventory cannot be read in full: %w", f.Target, unreadable)
	}
	var hidden []string
	for _, n := range nodes {
		if n.Reason == tree.ReasonForbidden || n.Reason == tree.ReasonNotRead {
			hidden = append(hidden, n.Key.String())
		}
	}
	return exit.Unreadable(f.Target.String(), hidden)
}
