package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/belongs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/logs"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const logsHelp = `Show the logs of the component NAME: of the pods that are its dependents, or that Kubernetes made for its Deployments, StatefulSets,
DaemonSets, Jobs and CronJobs. Lines are merged by the time at which they were written. KIND/NAME chooses among the dependents.

With --follow the logs are shown as they are written, those of pods that come later and of containers that restart included.`

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
		ValidArgsFunction: a.completeLogs,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on showing what is written")
	flags.Int64Var(&o.Tail, "tail", 10, "how many of the last lines of each container; -1 for all")
	flags.DurationVar(&o.Since, "since", 0, "only lines that are not older than this, such as 10m")
	flags.StringVarP(&o.Container, "container", "c", "", "only the containers of this name; by default the one that the pod's annotation names, or the first")
	flags.BoolVar(&o.All, "all-containers", false, "all containers of each pod")
	flags.BoolVarP(&o.Previous, "previous", "p", false, "what containers wrote before they were restarted last, as far as they were")
	flags.StringVarP(&o.selector, "selector", "l", "", "only pods with these labels, such as app=web")
	flags.BoolVar(&o.Timestamps, "timestamps", false, "show when each line was written")
	flags.BoolVar(&o.Prefix, "prefix", true, "show which pod and container wrote each line")
	flags.IntVar(&o.limit, "max-log-requests", 50, "how many logs are read at once")
	a.completeContainers(cmd)
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
		return nil, exit.BadUsage("--previous and --follow exclude each other: a container that ended writes nothing more")
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
	workloads, err := workloadsOf(ctx, c, target, only)
	if err != nil {
		return err
	}
	o.Palette = a.palette()
	pods := &podLogs{cluster: c, selector: selector, belongings: belongs.New(c, workloads), options: o}
	if o.follow {
		following, stop := context.WithCancel(ctx)
		defer stop()
		a.written.whenFull(stop)
		return newFollowing(pods, namespacesOf(workloads), a.warn).follow(following, logs.NewFollower(c, o.Options, o.limit, a.Out, a.warn))
	}
	sources, err := pods.sources(ctx, namespacesOf(workloads))
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		_, err := fmt.Fprintf(a.ErrOut, "%s has no %s.\n", target, o.wanted())
		return err
	}
	return logs.Print(ctx, c, sources, o.Options, a.Out, a.warn)
}

// wanted says what has the logs.
func (o logOptions) wanted() string {
	if o.Previous {
		return "containers that were restarted"
	}
	return "pods that have begun"
}

// podLogs finds the pods of workloads.
type podLogs struct {
	cluster    *cluster.Cluster
	selector   labels.Selector
	belongings *belongs.Belongings
	options    logOptions
}

func (p *podLogs) selection(namespace string) cluster.Selection {
	return cluster.Selection{Namespace: namespace, Options: []client.ListOption{client.MatchingLabelsSelector{Selector: p.selector}}}
}

// sources returns the containers that have logs now.
func (p *podLogs) sources(ctx context.Context, namespaces []string) ([]logs.Source, error) {
	var found []logs.Source
	named := map[string]bool{}
	err := p.each(ctx, namespaces, func(pod *corev1.Pod) {
		found = append(found, logs.Sources(pod, p.options.Options)...)
		for _, name := range logs.Containers(pod) {
			named[name] = true
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) > p.options.limit:
		return nil, exit.Refuse("%d logs are more than --max-log-requests %d; name a dependent, or raise it", len(found), p.options.limit)
	}
	return found, p.options.missed(named)
}

// missed says that the container that is wanted is none of those that pods have.
func (o logOptions) missed(named map[string]bool) error {
	if o.Container == "" || len(named) == 0 || named[o.Container] {
		return nil
	}
	return exit.Refuse("no pod has a container %q; they have %s", o.Container, strings.Join(slices.Sorted(maps.Keys(named)), ", "))
}

// each calls visit for each pod that is one of ours.
func (p *podLogs) each(ctx context.Context, namespaces []string, visit func(*corev1.Pod)) error {
	for _, namespace := range namespaces {
		var list corev1.PodList
		err := p.cluster.Pages(ctx, &list, p.selection(namespace), func() error {
			for i := range list.Items {
				ours, err := p.ours(ctx, &list.Items[i])
				if err != nil {
					return err
				}
				if ours {
					visit(&list.Items[i])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *podLogs) ours(ctx context.Context, pod *corev1.Pod) (bool, error) {
	_, ours, err := p.belongings.DependentOf(ctx, manifests.Key{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}, pod)
	return ours, err
}
