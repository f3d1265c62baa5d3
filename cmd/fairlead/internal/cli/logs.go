package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

const logsHelp = `Show the logs of the component NAME: the logs of pods that are its dependents, and of pods that
Kubernetes created for its Deployments, StatefulSets, DaemonSets, Jobs and CronJobs. Lines are merged by their
timestamps. With KIND/NAME the command shows only pods of these dependents.

With --follow the command continues to show new lines, including the lines of new pods and of restarted
containers.`

// logOptions are the flags of logs.
type logOptions struct {
	logs.Options
	follow   bool
	selector string
	limit    int
}

func (a *app) newLogs() *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "logs NAME | TYPE/NAME [KIND/NAME]...",
		Short: "Show the logs of a component's pods",
		Long:  logsHelp,
		Example: `  fairlead logs shop --follow
  fairlead logs shop deployment/web --since 10m --timestamps
  fairlead logs shop --previous --tail 50`,
		Args: takes(anyNumber, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			return a.logs(ctx, args[0], args[1:], o)
		}),
		ValidArgsFunction: a.completer.Workloads,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "continue to show new lines")
	flags.Int64Var(&o.Tail, "tail", 10, "number of last lines of each container; -1 for all")
	flags.DurationVar(&o.Since, "since", 0, "show only lines that are not older than this, such as 10m")
	flags.StringVarP(&o.Container, "container", "c", "",
		"show only containers with this name; by default the pod's default container")
	flags.BoolVar(&o.All, "all-containers", false, "show all containers of each pod")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "show the lines from before the last restart of each container")
	flags.StringVarP(&o.selector, "selector", "l", "", "show only pods with these labels, such as app=web")
	flags.BoolVar(&o.Timestamps, "timestamps", false, "show the timestamp of each line")
	flags.BoolVar(&o.Prefix, "prefix", true, "show the pod and container of each line")
	flags.IntVar(&o.limit, "max-log-requests", 50, "maximum number of logs that are read at the same time")
	a.completer.Containers(cmd, "container")
	return cmd
}

func (o logOptions) check() (labels.Selector, error) {
	switch {
	case o.Tail < -1:
		return nil, exit.BadUsage("--tail %d: want a number of lines, or -1 for all", o.Tail)
	case o.Since < 0:
		return nil, exit.BadUsage("--since %s: want a duration such as 10m", o.Since)
	case o.limit < 1:
		return nil, exit.BadUsage("--max-log-requests %d: want 1 at least", o.limit)
	case o.All && o.Container != "":
		return nil, exit.BadUsage("--container and --all-containers exclude each other")
	case o.Previous && o.follow:
		return nil, exit.BadUsage("--previous and --follow exclude each other: a terminated container writes no more lines")
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, exit.BadUsage("--selector %q: %w", o.selector, err)
	}
	return selector, nil
}

func (a *app) logs(ctx context.Context, name string, only []string, o logOptions) error {
	selector, err := o.check()
	if err != nil {
		return err
	}
	c, target, err := a.connect(name)
	if err != nil {
		return err
	}
	workloads, err := logs.Workloads(ctx, c, target, only)
	if err != nil {
		return err
	}
	o.Palette = a.palette()
	pods := logs.NewPods(c, workloads, selector)
	if o.follow {
		following, stop := context.WithCancel(ctx)
		defer stop()
		a.stdout.OnFail(stop)
		return pods.Follow(following, o.Options, o.limit, a.Out, a.warn)
	}
	sources, err := pods.Sources(ctx, o.Options, o.limit)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		_, err := fmt.Fprintf(a.ErrOut, "%s has no %s.\n", target, o.wanted())
		return err
	}
	return logs.Print(ctx, c, sources, o.Options, a.Out, a.warn)
}

// wanted describes the pods or containers that the flags select, for messages.
func (o logOptions) wanted() string {
	if o.Previous {
		return "restarted containers"
	}
	return "pods that have started"
}
