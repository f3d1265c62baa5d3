package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

const deleteHelp = `Delete the component NAME. Its operator deletes the dependents in reverse order.

The operator refuses the deletion while objects of others exist whose type the component defines. With --wait
the command prints these objects at once and continues to wait, because the deletion proceeds by itself when
they are gone. The command fails if the timeout is over. If the component is being deleted already, the
command asks the operator to try again.`

func (a *app) newDelete() *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "delete NAME | TYPE/NAME",
		Short: "Delete a component and its dependents",
		Long:  deleteHelp,
		Args:  takes(0, theComponent),
		RunE: work(func(ctx context.Context, args []string) error {
			if timeout < 0 {
				return errNegativeTimeout(timeout)
			}
			return a.delete(ctx, args[0], wait, timeout)
		}),
		ValidArgsFunction: a.completer.Component,
	}
	addWaitFlags(cmd.Flags(), &wait, &timeout,
		"wait until the component and its dependents are deleted, and show the progress")
	return cmd
}

func (a *app) delete(ctx context.Context, name string, wait bool, timeout time.Duration) error {
	f, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	c, target, obj := f.Cluster, f.Target, f.Live
	// An object of another type must have the status of a component: a person may have mistaken the type.
	if _, err := cluster.Status(target, obj); err != nil {
		return err
	}
	again := obj.GetDeletionTimestamp() != nil
	if obj, err = a.requestDeletion(ctx, c, target, obj); err != nil {
		return err
	}
	if again && wait {
		if obj, err = a.deleteAgain(ctx, cluster.Object{Cluster: c, Target: target, Live: obj}); err != nil {
			return err
		}
	}
	if obj == nil {
		a.println(target.String() + " deleted")
		return nil
	}
	if !wait {
		return reportBlocker(target, obj)
	}
	if err := a.newWaiter(c, target, timeout).Gone(ctx, obj); err != nil {
		return err
	}
	a.println(target.String() + " deleted")
	return nil
}

// requestDeletion deletes the component, and returns it as it is afterwards, nil if it is gone.
func (a *app) requestDeletion(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if obj.GetDeletionTimestamp() != nil {
		a.println(target.String() + " is being deleted already")
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
		a.println(target.String() + " deletion requested")
	}
	return after, err
}

// remaining returns the component as it is now, nil if it is gone. Another component may have its name by now.
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

// deleteAgain asks the operator to continue a deletion at once, because no watch may report that the blocker is gone.
// If the person may not ask, or the reconciler is unknown, it does nothing. It returns the component, nil if it is
// gone.
func (a *app) deleteAgain(ctx context.Context, f cluster.Object) (*unstructured.Unstructured, error) {
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
		// Another component has the name, or conflicts exhausted the API server's retries. The deletion continues
		// without the request.
		return remaining(ctx, f)
	case err != nil:
		return nil, err
	}
	a.println(f.Target.String() + " reconcile requested")
	return after, nil
}

// reportBlocker returns an error if the deletion is blocked.
func reportBlocker(target cluster.Target, obj *unstructured.Unstructured) error {
	status, err := cluster.Status(target, obj)
	if err != nil {
		return err
	}
	if report := progress.OfDeletion(status, obj.GetGeneration()); report.Verdict == progress.Blocked {
		return exit.Refuse("%s: %s", target, report.Summary)
	}
	return nil
}
