package inspection

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/completion"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/events"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

const eventsHelp = `Show the Events of the component NAME, the newest last. With --dependents also show the Events of
its dependents, and of the replica sets, jobs and pods that Kubernetes creates for the dependents. If such an object
was deleted, its Events are left out, because its owner is not known. With --watch the command shows each new Event
once, with -o json as a document.

An Event of the component has the reason of its condition Ready. It is Applied if the operator changed dependents of
a component that is not ready yet, and Repaired if it repaired dependents of a component that stays ready.

By default, API servers keep Events for an hour.`

// eventFormats does not contain the format name, because persons do not refer to Events by name.
var eventFormats = []show.Format{show.FormatWide, show.FormatJSON, show.FormatYAML}

// eventOptions are the flags of events, and what it works with.
type eventOptions struct {
	*command.Console
	clusters          command.Clusters
	output            string
	dependents, watch bool
	types             []string
}

// NewEvents returns the command events.
func NewEvents(base command.Base) *cobra.Command {
	o := &eventOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "events NAME | TYPE/NAME",
		Short: "Show the Events of a component and its dependents",
		Long:  eventsHelp,
		Args:  command.Takes(0, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			out, err := o.Output(o.output, eventFormats)
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			return o.run(ctx, args[0], out)
		}),
		ValidArgsFunction: base.Completer.Component,
	}
	cmd.Flags().BoolVarP(&o.dependents, "dependents", "d", false,
		"also show the Events of the dependents, and of the objects that Kubernetes creates for them")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "continue to show new Events")
	cmd.Flags().StringSliceVar(&o.types, "types", nil, "show only Events of these types: Normal, Warning")
	command.AddOutputFlag(cmd, &o.output, eventFormats)
	completion.Values(cmd, "types", corev1.EventTypeNormal, corev1.EventTypeWarning)
	return cmd
}

// check replaces the types of Events by their canonical spelling. It returns an error if a type is unknown.
func (o *eventOptions) check() error {
	known := []string{corev1.EventTypeNormal, corev1.EventTypeWarning}
	for i, text := range o.types {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, text) })
		if at < 0 {
			return exit.BadUsage("--types %q: want %s", text, strings.Join(known, ", "))
		}
		o.types[i] = known[at]
	}
	return nil
}

func (o *eventOptions) run(ctx context.Context, name string, out show.Output) error {
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return err
	}
	subject, err := events.Subject(ctx, c, target, o.dependents)
	if err != nil {
		return err
	}
	reader := events.NewReader(c, subject, o.types)
	found, err := reader.List(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 && !out.Structured() && !o.watch {
		_, err := fmt.Fprintf(o.ErrOut, "There are no Events of %s.\n", target)
		return err
	}
	if err := show.NewEvents(found).Print(out, time.Now()); err != nil || !o.watch {
		return err
	}
	return reader.Follow(ctx, out)
}
