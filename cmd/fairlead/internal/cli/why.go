package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

const whyHelp = `Show the origin of the object TYPE/NAME: its component, its wave and settings, the file of the
source that renders it, and the values that affect it. For an object that a controller created for a dependent,
such as a Pod, the command explains this dependent.

With --field PATH the command explains a field, such as spec.containers[web].image: its managers, whether the
manifest sets the field, and the values that affect it.

To find these values, the command changes one value after the other and renders the component again, for 15
seconds at most. It calls a function only with --call-functions, and only once, so it does not search the values
of a function. Give the values of polled inputs, and of objects that you may not read, with --input NAME=FILE.

For a dependent outside Kubernetes, of a component of any type, TYPE is its kind, such as Schema, or
Schema.external.fairlead.io if the cluster serves a type of this kind.

For an object that its condition include-when or active-when leaves out, the command shows the condition and the
values that it read, without values of Secrets.

The rows "unknown" list the facts that the command could not determine.`

// whyOptions are the flags of why.
type whyOptions struct {
	field  string
	inputs []string
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
func (a *app) question(name string, o whyOptions) (question, error) {
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
	asked.inputs, err = a.inputs(o.inputs)
	return asked, err
}

// rendering returns the inputs with which why renders components.
func (a *app) rendering(c *cluster.Cluster, asked question) (explain.Rendering, error) {
	about, err := a.flags.ToDiscoveryClient()
	if err != nil {
		return explain.Rendering{}, exit.Unasked("kubeconfig: %w", err)
	}
	return explain.Rendering{Gate: a.gate(c, asked.callFunctions), About: about, Inputs: asked.inputs}, nil
}

func (a *app) newWhy() *cobra.Command {
	var output string
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Show the origin of an object",
		Long:  whyHelp,
		Args:  takes(0, "the object (TYPE/NAME)"),
		RunE: work(func(ctx context.Context, args []string) error {
			out, err := a.output(output, show.Documents)
			if err != nil {
				return err
			}
			return a.why(ctx, args[0], o, out)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&o.field, "field", "",
		"path of a field, such as spec.containers[web].image or metadata.labels[example.com/team]")
	addInputFlag(cmd.Flags(), &o.inputs)
	addCallFunctionsFlag(cmd.Flags(), &o.callFunctions)
	addOutputFlag(cmd, &output, show.Documents)
	return cmd
}

func (a *app) why(ctx context.Context, name string, options whyOptions, out show.Output) error {
	asked, err := a.question(name, options)
	if err != nil {
		return err
	}
	o, err := a.find(ctx, name)
	if err != nil && o.Cluster == nil {
		if exit.CodeOf(err) != exit.Misuse {
			return err
		}
		return a.whyExternal(ctx, asked, out, err)
	}
	if err != nil {
		err = a.whyNotADependent(ctx, o, out, err)
		if mayBeExternal(name, err) {
			return a.whyExternal(ctx, asked, out, err)
		}
		return err
	}
	rendering, err := a.rendering(o.Cluster, asked)
	if err != nil {
		return err
	}
	path := asked.path
	explained, err := explain.Object(ctx, rendering, o, path)
	switch {
	case err != nil && path == nil:
		err = a.whyNotADependent(ctx, o, out, err)
		if mayBeExternal(name, err) {
			return a.whyExternal(ctx, asked, out, err)
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

// mayBeExternal reports whether a name for which there is nothing to explain may be that of an external. The cluster may
// serve a type of the same kind, so only a name with a group is not that of an external.
func mayBeExternal(name string, err error) bool {
	kind, _, _ := strings.Cut(name, "/")
	return err != nil && exit.CodeOf(err) == exit.No && !strings.Contains(kind, ".")
}

// whyExternal explains an external, or an object that is left out, whose type no cluster serves. It returns unserved if
// no component has the external or leaves out the object.
func (a *app) whyExternal(ctx context.Context, asked question, out show.Output, unserved error) error {
	name, path := asked.name, asked.path
	named := strings.Contains(strings.ToLower(name), "."+external.Group+"/")
	c, err := cluster.Connect(a.flags)
	if err != nil {
		return unserved
	}
	rendering, err := a.rendering(c, asked)
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

// whyNotADependent explains an object that is not a dependent, if a dependency holds it up, if its condition leaves it
// out, or if a component only observes it. Otherwise, it returns err.
func (a *app) whyNotADependent(ctx context.Context, o cluster.Object, out show.Output, err error) error {
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
