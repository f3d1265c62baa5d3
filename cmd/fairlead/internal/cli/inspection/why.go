package inspection

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

const whyHelp = `Show the origin of the object TYPE/NAME: its component, its wave and settings, the file of the source
that renders it, and the values that affect it. For an object that a controller created for a dependent, such as a
Pod, the command explains this dependent.

With --field PATH the command explains a field, such as spec.containers[web].image: its managers, whether the
manifest sets the field, and the values that affect it. Items of lists are named by their name or number, and names
with dots or slashes are in brackets, as in metadata.labels[example.com/team]. containers[name=web] and
ports[containerPort=80] are accepted, too. A field without a manager is a default of the API server. Values of
Secrets are not shown.

To find these values, the command changes one value after the other and renders the component again, for 15 seconds
and 300 values at most. It shows the last place that sets a value. Defaults of sub-charts are not tried. It calls a
function only with --call-functions, and only once, so it does not search the values of a function. Give the values
of polled inputs, and of objects that you may not read, with --input NAME=FILE.

For a dependent outside Kubernetes, of a component of any type, TYPE is its kind, such as Schema, or
Schema.external.fairlead.io if the cluster serves a type of this kind.

For an object that its condition include-when or active-when leaves out, the command shows the condition and the
values that it read, without values of Secrets.

Other rows are there if they apply:

    depends on   the dependencies of the object, in place of its wave
    held up      the dependency, export or parameter that the object waits for
    left out     the condition that is false, and the values that it read
    bound        the fields with exported values, and their live values
    ignored      the rule that leaves the field to others
    not ready    the message of its readiness, and the causes
    not updated  why the last update of a ready dependent failed
    observed     the wave of an object that the component only observes
    unknown      a fact that the command could not determine

Files, values, and objects that do not exist yet are explained for components of the ready-made operator only. Such
an object is found if it is in status.waiting or status.leftOut, which have ten entries at most.`

// whyOptions are the flags of why, and what it works with.
type whyOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
	field    string
	inputs   []string
	// callFunctions allows calls of functions.
	callFunctions bool
}

// question is what why explains.
type question struct {
	// name is TYPE/NAME.
	name string
	// path is the field, or nil for the whole object.
	path changes.Path
	// inputs are given values of inputs, by their names.
	inputs        map[string]any
	callFunctions bool
}

// question validates the argument and the flags of why, and reads the values of inputs.
func (o *whyOptions) question(name string) (question, error) {
	asked := question{name: name, callFunctions: o.callFunctions}
	var err error
	if o.field != "" {
		if asked.path, err = changes.ParsePath(o.field); err != nil {
			return asked, exit.BadUsage("%w", err)
		}
	}
	if !strings.Contains(name, "/") {
		return asked, exit.BadUsage("object %q: want TYPE/NAME", name)
	}
	asked.inputs, err = o.Inputs(o.inputs)
	return asked, err
}

// rendering returns the inputs with which why renders components.
func (o *whyOptions) rendering(c *cluster.Cluster, asked question) (explain.Rendering, error) {
	about, err := o.clusters.Discovery()
	if err != nil {
		return explain.Rendering{}, err
	}
	gate := command.NewGate(c, asked.callFunctions, o.Tell)
	return explain.Rendering{Gate: gate, About: about, Inputs: asked.inputs}, nil
}

// NewWhy returns the command why.
func NewWhy(base command.Base) *cobra.Command {
	o := &whyOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Show the origin of an object",
		Long:  whyHelp,
		Args:  command.Takes(0, "the object (TYPE/NAME)"),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, show.Documents)
			if err != nil {
				return err
			}
			return o.run(ctx, args[0], out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&o.field, "field", "",
		"path of a field, such as spec.containers[web].image or metadata.labels[example.com/team]")
	command.AddInputFlag(cmd.Flags(), &o.inputs)
	command.AddCallFunctionsFlag(cmd.Flags(), &o.callFunctions)
	command.AddOutputFlag(cmd, &o.output, show.Documents)
	return cmd
}

func (o *whyOptions) run(ctx context.Context, name string, out show.Output) error {
	asked, err := o.question(name)
	if err != nil {
		return err
	}
	object, err := o.clusters.Find(ctx, name)
	if err != nil && object.Cluster == nil {
		if exit.CodeOf(err) != exit.Misuse {
			return err
		}
		return o.explainExternal(ctx, asked, out, err)
	}
	if err != nil {
		err = explainNonDependent(ctx, object, out, err)
		if mayBeExternal(name, err) {
			return o.explainExternal(ctx, asked, out, err)
		}
		return err
	}
	rendering, err := o.rendering(object.Cluster, asked)
	if err != nil {
		return err
	}
	path := asked.path
	explained, err := explain.Object(ctx, rendering, object, path)
	switch {
	case err != nil && path == nil:
		err = explainNonDependent(ctx, object, out, err)
		if mayBeExternal(name, err) {
			return o.explainExternal(ctx, asked, out, err)
		}
		return err
	case err != nil:
		return err
	}
	if err := explained.Print(out); err != nil {
		return err
	}
	return explained.Unreadable
}

// mayBeExternal reports whether a name for which there is nothing to explain may be that of an external. The cluster
// may serve a type of the same kind, so only a name with a group is not that of an external.
func mayBeExternal(name string, err error) bool {
	kind, _, _ := strings.Cut(name, "/")
	return err != nil && exit.CodeOf(err) == exit.No && !strings.Contains(kind, ".")
}

// explainExternal explains an external, or an object that is left out, whose type no cluster serves. It returns
// unserved if no component has the external or leaves out the object.
func (o *whyOptions) explainExternal(ctx context.Context, asked question, out show.Output, unserved error) error {
	name, path := asked.name, asked.path
	named := strings.Contains(strings.ToLower(name), "."+external.Group+"/")
	c, err := o.clusters.Connect()
	if err != nil {
		return unserved
	}
	rendering, err := o.rendering(c, asked)
	if err != nil {
		return unserved
	}
	explained, found, err := explain.External(ctx, c, rendering, name)
	if !found && err == nil && path == nil {
		if leftOut, isLeftOut := explain.LeftOut(ctx, c, name); isLeftOut {
			return leftOut.Print(out)
		}
	}
	switch {
	case !found && !named:
		return unserved
	case err != nil:
		return err
	case !found:
		return explain.NotExternal(c, name)
	case path != nil:
		return exit.BadUsage("%s is outside Kubernetes, so nothing is known about the managers of its fields; "+
			"leave out --field", name)
	}
	if err := explained.Print(out); err != nil {
		return err
	}
	return explained.Unreadable
}

// explainNonDependent explains an object that is not a dependent, if a dependency holds it up, if its condition leaves
// it out, or if a component only observes it. Otherwise, it returns err.
func explainNonDependent(ctx context.Context, o cluster.Object, out show.Output, err error) error {
	if o.Cluster == nil {
		return err
	}
	explained, found, incomplete := explain.HeldUp(ctx, o.Cluster, o.Target)
	switch {
	case found:
		return explained.Print(out)
	case len(incomplete) > 0:
		return fmt.Errorf("%w; the status of a component lists at most ten of the objects for which it waits, or which it "+
			"leaves out; for all of them, run: fairlead plan -n %s %s", err, o.Target.Namespace, incomplete[0])
	}
	return err
}
