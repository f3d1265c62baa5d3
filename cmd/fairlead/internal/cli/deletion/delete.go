package deletion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
)

const deleteHelp = `Delete the component NAME. Its operator deletes the dependents in reverse order.

Several components are deleted in the given order. With --wait each deletion begins after the end of the one before.
Nothing is deleted if one of them does not exist. A later error about one of them does not keep the others.
Without --wait the command returns when the API server has accepted the deletion. Its exit code is 1 if the status
already reports a blocked deletion. With --wait it also deletes the ConfigMaps with the sources of the component.

The operator refuses the deletion as long as there are foreign instances: objects that are not dependents of
the component, but whose type the component defines. The command first searches for foreign instances with your
rights, and warns of them. fairlead plan --delete shows the whole deletion. With --wait the command prints the
foreign instances that the operator reports, and continues to wait, because the deletion proceeds after they are
deleted. The command fails after the timeout. If the deletion of the component was requested before, the command
requests another attempt from the operator.

For a component with a kubeconfig, the command searches as the identity of the component. If you may not
impersonate it, the command warns, and does not search.

The command names the dependents that stay in the cluster because of their delete policy. It says who owns those
of them that do not belong to the component any more.

The command deletes nothing if components of the same type and namespace read from this one: its exports, the
component as an input, or dependents that it deletes, as values, inputs, sources, kubeconfigs or accounts. It names
them; --ignore-readers deletes the component nevertheless. If you may not list the components, a warning says that
this was not checked.

The command also warns of rights that the deletion needs, and that the service account of the component or the
operator lacks.

The operator also refuses the deletion if it cannot determine whether foreign instances exist, for example because
an API is not available. --accept-unknown GROUP accepts the loss of the objects of this API group that the operator
cannot list. The command writes the group to the annotation <reconciler>/accept-unknown of the component, for this
deletion only. Foreign instances that the operator can list still block the deletion.`

// options are the flags of delete, and what it works with.
type options struct {
	*command.Console
	clusters command.Clusters
	wait     command.WaitFlags
	// accepted are the API groups whose objects may be lost if the operator cannot list them.
	accepted []string
	// ignoreReaders deletes the component although others read from it.
	ignoreReaders bool
}

// New returns the command delete.
func New(base command.Base) *cobra.Command {
	o := &options{Console: base.Console, clusters: base.Clusters}
	cmd := &cobra.Command{
		Use:   "delete (NAME | TYPE/NAME)...",
		Short: "Delete components and their dependents",
		Long:  deleteHelp,
		Args:  command.Takes(command.AnyNumber, command.TheComponent),
		RunE: command.Work(func(ctx context.Context, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			found, err := findAll(ctx, o.clusters, args)
			if err != nil {
				return err
			}
			return o.deleteAll(ctx, found)
		}),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return base.Completer.Component(cmd, nil, typed)
		},
	}
	cmd.Flags().StringSliceVar(&o.accepted, "accept-unknown", nil,
		"accept the loss of objects of this API `group` that the operator cannot list; may be repeated")
	cmd.Flags().BoolVar(&o.ignoreReaders, "ignore-readers", false,
		"delete the component although other components read from it")
	o.wait.AddTo(cmd.Flags(), "wait until the component and its dependents are deleted, and show the progress")
	return cmd
}

// check returns an error about flags that are invalid, or that do not fit the arguments.
func (o *options) check(names []string) error {
	if err := o.wait.Check(); err != nil {
		return err
	}
	if len(o.accepted) > 0 && len(names) > 1 {
		return exit.BadUsage("--accept-unknown accepts the loss of objects of one component: give one component")
	}
	for _, group := range o.accepted {
		// The group of an additional managed type may be * or *.suffix.
		suffix := strings.TrimPrefix(group, "*.")
		if problems := validation.IsDNS1123Subdomain(suffix); group != "*" && len(problems) > 0 {
			return exit.BadUsage("--accept-unknown %q is no API group: %s", group, problems[0])
		}
	}
	return nil
}

func (o *options) delete(ctx context.Context, f cluster.Object) error {
	c, target := f.Cluster, f.Target
	if err := checkReaders(ctx, f, o.ignoreReaders, o.Warn); err != nil {
		return err
	}
	again := f.Live.GetDeletionTimestamp() != nil
	obj, err := acceptUnknown(ctx, f, o.accepted)
	if err != nil {
		return err
	}
	if !again {
		o.tellConsequences(ctx, cluster.Object{Cluster: c, Target: target, Live: obj})
	}
	if obj, err = o.request(ctx, c, target, obj); err != nil {
		return err
	}
	if again && o.wait.Wait {
		if obj, err = o.requestAgain(ctx, cluster.Object{Cluster: c, Target: target, Live: obj}); err != nil {
			return err
		}
	}
	if obj == nil {
		o.Println(target.String() + " deleted")
		return nil
	}
	switch {
	case !o.wait.Wait && again && len(o.accepted) > 0:
		// The status is older than the annotation, so it cannot say whether the deletion is still blocked.
		o.Println("the loss is accepted, and the deletion continues; " + target.Command("delete") +
			" --wait shows the progress")
		return nil
	case !o.wait.Wait:
		command.WarnOfAbsence(ctx, cluster.Object{Cluster: c, Target: target, Live: obj}, o.Warn)
		return reportBlocker(target, obj)
	}
	if err := o.awaitEnd(ctx, cluster.Object{Cluster: c, Target: target, Live: obj}); err != nil {
		return err
	}
	o.Println(target.String() + " deleted")
	return nil
}

// awaitEnd waits until the component and its sources no longer exist.
func (o *options) awaitEnd(ctx context.Context, f cluster.Object) error {
	began := time.Now()
	command.WarnOfOperator(f.Cluster.Operator(ctx, f.Target), o.Warn)
	if err := o.wait.Waiter(f.Cluster, f.Target, o.Out).Deleted(ctx, f.Live); err != nil || !f.Target.IsReadyMade() {
		return err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if o.wait.Timeout > 0 {
		limited, cancel = context.WithDeadline(ctx, began.Add(o.wait.Timeout))
	}
	defer cancel()
	err := publish.Clear(limited, f.Cluster.Client, f.Target, f.Live.GetUID())
	if limited.Err() != nil && ctx.Err() == nil {
		return exit.Refuse("%s is deleted, but its sources still exist: see the ConfigMaps with the label %s",
			f.Target, publish.LabelSourceOf)
	}
	return err
}

// acceptUnknown adds groups to the accepted groups in an annotation of the component. It returns the updated component.
func acceptUnknown(ctx context.Context, f cluster.Object, groups []string) (*unstructured.Unstructured, error) {
	if len(groups) == 0 {
		return f.Live, nil
	}
	m, err := f.Managed()
	if err != nil {
		return nil, err
	}
	key := m.Annotation(metav1alpha1.AnnotationAcceptUnknown)
	if recorded := f.Live.GetAnnotations()[key]; recorded != "" {
		groups = slices.Concat(strings.Split(recorded, ","), groups)
	}
	slices.Sort(groups)
	return f.Cluster.Annotate(ctx, f.Live, map[string]string{key: strings.Join(slices.Compact(groups), ",")})
}

// request requests the deletion of the component. It returns the component with its deletion timestamp, or nil
// if the component no longer exists.
func (o *options) request(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if obj.GetDeletionTimestamp() != nil {
		o.Println(target.String() + " is being deleted already")
		return obj, nil
	}
	uid := obj.GetUID()
	if err := c.Delete(ctx, obj, client.Preconditions{UID: &uid}); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	after, err := remaining(ctx, cluster.Object{Cluster: c, Target: target, Live: obj})
	if after != nil {
		o.Println(target.String() + " deletion requested")
	}
	return after, err
}

// remaining reads the component again. It returns nil if the component no longer exists, even if a new component has
// its name.
func remaining(ctx context.Context, f cluster.Object) (*unstructured.Unstructured, error) {
	now := f.Target.Blank()
	err := f.Cluster.Get(ctx, client.ObjectKeyFromObject(now), now)
	if apierrors.IsNotFound(err) || err == nil && now.GetUID() != f.Live.GetUID() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return now, nil
}

// requestAgain requests another attempt of a deletion, because the operator may not notice that a blocker was deleted.
// It does nothing if the person lacks the right, or if the reconciler is unknown. It returns the component, or nil if
// the component no longer exists.
func (o *options) requestAgain(ctx context.Context, f cluster.Object) (*unstructured.Unstructured, error) {
	m, err := f.Managed()
	if err != nil {
		return f.Live, nil
	}
	after, _, err := m.RequestReconcile(ctx, false)
	switch {
	case apierrors.IsForbidden(err):
		return f.Live, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsConflict(err):
		// Either a new component has the same name, or other clients changed the component too often. The deletion
		// continues without the request.
		return remaining(ctx, f)
	case err != nil:
		return nil, err
	}
	o.Println(f.Target.String() + " reconcile requested")
	return after, nil
}

// reportBlocker returns an error if the deletion is blocked.
func reportBlocker(target cluster.Target, obj *unstructured.Unstructured) error {
	status, err := cluster.Status(target, obj)
	if err != nil {
		return err
	}
	if report := progress.OfDeletion(status, obj.GetGeneration()); report.Result == progress.Blocked {
		return exit.Refuse("%s: %s", target, report.Summary)
	}
	return nil
}
