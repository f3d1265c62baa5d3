package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// await waits until the applied component is Ready, if --wait is set. If the component is unchanged and its status
// reports an earlier failure, await requests another attempt from the operator, and waits for its result.
func (o *applyOptions) await(ctx context.Context, f cluster.Object) error {
	if suspend, _, _ := unstructured.NestedBool(f.Live.Object, "spec", "suspend"); suspend {
		idle := exit.Refuse("%s is suspended, so nothing is applied; to resume it, run: %s", f.Target,
			f.Target.Command("resume"))
		if o.wait.Wait {
			return idle
		}
		o.Warn(idle)
		return nil
	}
	if !o.wait.Wait {
		command.WarnOfAbsence(ctx, f, o.Warn)
		return nil
	}
	m, err := f.Managed()
	if err != nil {
		return err
	}
	w := o.wait.Waiter(f.Cluster, f.Target, o.Out)
	ready := func() error { return w.Ready(ctx, f.Live) }
	if progress.OfApply(m.Status, f.Live.GetGeneration()).Result != progress.Failed {
		return command.WithOperator(ctx, f, o.Warn, ready)
	}
	after, request, err := m.RequestReconcile(ctx, true)
	if apierrors.IsForbidden(err) {
		return command.WithOperator(ctx, f, o.Warn, ready)
	}
	if err != nil {
		return err
	}
	o.Println(f.Target.String() + " reconcile requested")
	return command.WithOperator(ctx, f, o.Warn, func() error { return w.Answered(ctx, after, request) })
}
