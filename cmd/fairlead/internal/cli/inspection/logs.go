package inspection

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
)

const logsHelp = `Show the logs of the component NAME: the logs of pods that are its dependents, and of pods that
Kubernetes created for its Deployments, StatefulSets, DaemonSets, Jobs and CronJobs. Lines are merged by their
timestamps. With KIND/NAME the command shows only pods of these dependents.

With --follow the command continues to show new lines, including the lines of new pods and of restarted
containers.

Of a pod with several containers the command shows the one in the annotation
kubectl.kubernetes.io/default-container, or the first one, unless -c or --all-containers is set. If no pod has the
container of -c, the command fails, or waits for such a pod with --follow. --previous skips containers that did not
restart.

If a log cannot be read, the command prints an error on stderr and shows the other logs. Without --follow, the exit
code is then not 0. It is 3 if a log could not be requested. The command needs the rights to list and watch pods, to
read pods/log, and to read replica sets and jobs. Dependents in another cluster are not supported. Logs are printed
unchanged, with the colours of the program.`

// logOptions are the flags of logs, and what it works with.
type logOptions struct {
	*command.Console
	clusters command.Clusters
	lines    logs.Options
	follow   bool
	selector string
	limit    int
}

// NewLogs returns the command logs.
func NewLogs(base command.Base) *cobra.Command {
	o := &logOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "logs NAME | TYPE/NAME [KIND/NAME]...",
		Short: "Show the logs of a component's pods",
		Long:  logsHelp,
		Example: `  fairlead logs shop --follow
  fairlead logs shop deployment/web --since 10m --timestamps
  fairlead logs shop --previous --tail 50`,
		Args: command.Takes(command.AnyNumber, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			return o.run(ctx, args[0], args[1:])
		}),
		ValidArgsFunction: base.Completer.Workloads,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "continue to show new lines")
	flags.Int64Var(&o.lines.Tail, "tail", 10, "number of last lines of each container; -1 for all")
	flags.DurationVar(&o.lines.Since, "since", 0, "show only lines that are not older than this, such as 10m")
	flags.StringVarP(&o.lines.Container, "container", "c", "",
		"show only containers with this name; by default the pod's default container")
	flags.BoolVar(&o.lines.All, "all-containers", false, "show all containers of each pod")
	flags.BoolVarP(&o.lines.Previous, "previous", "p", false,
		"show the lines from before the last restart of each container")
	flags.StringVarP(&o.selector, "selector", "l", "", "show only pods with these labels, such as app=web")
	flags.BoolVar(&o.lines.Timestamps, "timestamps", false, "show the timestamp of each line")
	flags.BoolVar(&o.lines.Prefix, "prefix", true, "show the pod and container of each line")
	flags.IntVar(&o.limit, "max-log-requests", 50, "maximum number of logs that are read at the same time")
	base.Completer.Containers(cmd, "container")
	return cmd
}

func (o *logOptions) check() (labels.Selector, error) {
	switch {
	case o.lines.Tail < -1:
		return nil, exit.BadUsage("--tail %d: want a number of lines, or -1 for all", o.lines.Tail)
	case o.lines.Since < 0:
		return nil, exit.BadUsage("--since %s: want a duration such as 10m", o.lines.Since)
	case o.limit < 1:
		return nil, exit.BadUsage("--max-log-requests %d: want 1 at least", o.limit)
	case o.lines.All && o.lines.Container != "":
		return nil, exit.BadUsage("--container and --all-containers exclude each other")
	case o.lines.Previous && o.follow:
		return nil, exit.BadUsage("--previous and --follow exclude each other: a terminated container writes no more lines")
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, exit.BadUsage("--selector %q: %w", o.selector, err)
	}
	return selector, nil
}

func (o *logOptions) run(ctx context.Context, name string, only []string) error {
	selector, err := o.check()
	if err != nil {
		return err
	}
	c, target, err := o.clusters.ConnectTo(name)
	if err != nil {
		return err
	}
	workloads, err := logs.Workloads(ctx, c, target, only)
	if err != nil {
		return err
	}
	o.lines.Palette = o.Palette()
	pods := logs.NewPods(c, workloads, selector)
	if o.follow {
		following, stop := context.WithCancel(ctx)
		defer stop()
		o.OnLoss(stop)
		return pods.Follow(following, o.lines, o.limit, o.Out, o.Warn)
	}
	containers, err := pods.Logged(ctx, o.lines, o.limit)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		_, err := fmt.Fprintf(o.ErrOut, "%s has no %s.\n", target, o.wanted())
		return err
	}
	return logs.Print(ctx, c, containers, o.lines, o.Out, o.Warn)
}

// wanted describes the pods or containers that the flags select, for messages.
func (o *logOptions) wanted() string {
	if o.lines.Previous {
		return "restarted containers"
	}
	return "pods that have started"
}
