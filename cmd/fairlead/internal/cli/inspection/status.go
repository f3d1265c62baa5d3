package inspection

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component"
)

const statusHelp = `Show the status of the component NAME: its state with the time of the last change, the dependents
that it waits for with reasons, the blockers of its deletion, its conditions, revision and source, and the time of the
next reconciliation. For dependents that are not ready, the command shows causes from Events, pods and other objects
of the dependent that you may read.

The exit code is 0 if the component is Ready for its current spec, and 1 if it is not, or if no operator serves
it. With --watch the status is shown again whenever it changes, until the command is interrupted; the exit code is
that of the last status.

An output that is not a terminal gets each status of --watch below the previous one, and with -o json as a document.
When the component is deleted, the command ends with exit code 1. With -o wide the output contains full digests, the
target and the UID.

The table NOT READY has at most three causes of a dependent. What you may not read is left out, and so are the
causes in another cluster:

    all dependents           the latest Warning Event of each reason
    workloads, pods          pods that are not created or not scheduled;
                             containers that do not start or that failed, with
                             the exit code and the last line of the log;
                             Warning Events of pods; unbound claims
    PersistentVolumeClaim    a storage class that does not exist
    APIService, webhook configuration
                             no ready endpoint of its Service
    custom resource          its conditions that are False, if nothing else is
                             known

A status is as old as its writer, so the command reads the Lease of the operator. The exit code is 1 if no operator
has held it for a minute, or if the operator does not watch the namespace. list, tree, why and the commands with
--wait warn of this. The Lease is in the namespace fairlead-system, or in the one that the environment variable
FAIRLEAD_OPERATOR_NAMESPACE names. If you may list all Leases, any operator that watches the namespace counts.

"operator not checked" says that the Lease is not known: you may not read it, the operator runs without leader
election, or the component belongs to another operator. Only in the last case the other commands do not warn. If your
operator ran with leader election before, delete its old Lease.`

// operatorInterval is the time between two looks at the Lease of the operator while a status is followed.
const operatorInterval = 30 * time.Second

// statusOptions are the flags of status, and what it works with.
type statusOptions struct {
	*command.Console
	clusters command.Clusters
	output   string
	watch    bool
}

// NewStatus returns the command status.
func NewStatus(base command.Base) *cobra.Command {
	o := &statusOptions{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "status NAME | TYPE/NAME",
		Short: "Show the state of a component and the reasons for it",
		Long:  statusHelp,
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
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show the status again whenever it changes")
	command.AddOutputFlag(cmd, &o.output, show.Formats)
	return cmd
}

func (o *statusOptions) run(ctx context.Context, name string, out show.Output) error {
	f, err := o.clusters.Find(ctx, name)
	if err != nil {
		return err
	}
	s, err := statusOf(ctx, f.Cluster, f.Target, f.Live)
	if err != nil {
		return err
	}
	if o.watch {
		w := &statusWatch{cluster: f.Cluster, target: f.Target, out: out, printed: show.Status{}}
		if s, err = w.follow(ctx, f.Live); err != nil {
			return err
		}
	} else if err := s.Print(out, time.Now()); err != nil {
		return err
	}
	if !s.IsReady() {
		return exit.RefuseShown("%s is not ready", f.Target)
	}
	return nil
}

// statusOf returns the status of a component in the form that the command prints, with the causes why dependents are
// not ready.
func statusOf(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured,
) (show.Status, error) {
	status, err := cluster.StatusIfAny(target, obj)
	if err != nil {
		return show.Status{}, err
	}
	settings, err := settingsOf(target, obj)
	if err != nil {
		return show.Status{}, err
	}
	s := show.NewStatus(obj, status, settings)
	s.Grant = cluster.Grant(target, obj, status)
	s.Operator = command.ShownOperator(c.Operator(ctx, target))
	s.AddCauses(dependentcauses.OfStatus(ctx, c, status))
	return s, nil
}

// settingsOf reads the settings in the spec of a component of the ready-made operator. It returns no settings for other
// types.
func settingsOf(target cluster.Target, obj *unstructured.Unstructured) (show.Settings, error) {
	if !target.IsReadyMade() {
		return show.Settings{}, nil
	}
	var typed v1alpha1.Component
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &typed); err != nil {
		return show.Settings{}, exit.Refuse("%s: %w", target, err)
	}
	defaults := component.Options{}.WithDefaults().Intervals
	return show.Settings{
		Source: typed.SourceName(), Interval: setOr(typed.Spec.ResyncInterval(), defaults.Resync),
		RetryInterval: setOr(typed.Spec.RetryInterval(), defaults.Retry),
		Timeout:       setOr(typed.Spec.Timeout(), defaults.Timeout), Exports: typed.Spec.Exports(),
	}, nil
}

// setOr returns an interval that a spec sets, or else the interval of the operator.
func setOr(interval, operators time.Duration) *time.Duration {
	if interval == metav1alpha1.UnsetInterval {
		return &operators
	}
	return &interval
}

// statusWatch prints the status of a component again after each change.
type statusWatch struct {
	cluster *cluster.Cluster
	target  cluster.Target
	out     show.Output
	printed show.Status

	mu     sync.Mutex
	latest show.Status
	block  *progress.Block
}

// follow prints each new status until the context ends, and returns the last status.
func (w *statusWatch) follow(
	ctx context.Context, from *unstructured.Unstructured,
) (show.Status, error) {
	if fd, ok := terminal.Descriptor(w.out.Writer); ok && !w.out.Structured() && w.out.Format != show.FormatName {
		w.block = progress.NewBlock(w.out, func() (int, int) { return terminal.Size(fd) })
		ticking, stop := context.WithCancel(ctx)
		defer stop()
		go w.tick(ticking)
	}
	checking, stop := context.WithCancel(ctx)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		w.checkOperator(checking)
	}()
	err := w.cluster.Follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			return false, exit.Refuse("%s was deleted", w.target)
		}
		s, err := statusOf(ctx, w.cluster, w.target, obj)
		if err != nil {
			return false, err
		}
		return false, w.show(s)
	})
	stop()
	<-checked
	if err != nil && ctx.Err() == nil {
		return w.latest, err
	}
	return w.latest, nil
}

func (w *statusWatch) show(s show.Status) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = s
	return w.print()
}

// print shows the latest status. The caller holds the lock.
func (w *statusWatch) print() error {
	s := w.latest
	if w.block != nil {
		w.block.Draw(s.Lines(w.out, time.Now()))
		return nil
	}
	if reflect.DeepEqual(s, w.printed) {
		return nil
	}
	between := map[show.Format]string{
		show.FormatTable: "\n", show.FormatWide: "\n",
		show.FormatYAML: "---\n",
	}[w.out.Format]
	if w.printed.Kind != "" && between != "" {
		if _, err := fmt.Fprint(w.out, between); err != nil {
			return err
		}
	}
	w.printed = s
	return s.Print(w.out, time.Now())
}

// checkOperator shows the latest status again when an operator ends or begins to serve the component, which changes
// nothing in the component.
func (w *statusWatch) checkOperator(ctx context.Context) {
	ticker := time.NewTicker(operatorInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		operator := command.ShownOperator(w.cluster.Operator(ctx, w.target))
		if ctx.Err() != nil {
			return
		}
		if w.takeOperator(operator) != nil {
			return // The output is lost, so the command ends.
		}
	}
}

// takeOperator shows the latest status again if the state of the operator changed. The age of the Lease in a message is
// no change.
func (w *statusWatch) takeOperator(operator *show.Operator) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.latest.Operator
	w.latest.Operator = operator
	if (before == nil) == (operator == nil) && (before == nil || before.State == operator.State) {
		return nil
	}
	return w.print()
}

// tick redraws the status each second, so that its ages are current.
func (w *statusWatch) tick(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.mu.Lock()
			if w.latest.Kind != "" {
				w.block.Draw(w.latest.Lines(w.out, time.Now()))
			}
			w.mu.Unlock()
		}
	}
}
