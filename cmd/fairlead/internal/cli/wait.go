package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

const defaultTimeout = 5 * time.Minute

func addWaitFlags(flags *pflag.FlagSet, wait *bool, timeout *time.Duration, usage string) {
	flags.BoolVar(wait, "wait", false, usage)
	flags.DurationVar(timeout, "timeout", defaultTimeout, "how long to wait; 0 is without limit")
}

func negativeTimeout(timeout time.Duration) error {
	return exit.BadUsage("--timeout %s: want a duration such as 5m, or 0 for no limit", timeout)
}

// waiter waits for one component, and shows its progress.
type waiter struct {
	cluster *cluster.Cluster
	target  cluster.Target
	timeout time.Duration
	display progress.Display
	// last is what the latest status says.
	last progress.Report
}

func (a *app) newWaiter(c *cluster.Cluster, target cluster.Target, timeout time.Duration) *waiter {
	return &waiter{cluster: c, target: target, timeout: timeout, display: progress.NewDisplay(a.Out)}
}

// ready waits until a component is ready for the generation that from has.
func (w *waiter) ready(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfApply(status, from.GetGeneration())
	})
}

// answered waits until the operator has answered a request for a pass, and the component is ready.
func (w *waiter) answered(ctx context.Context, from *unstructured.Unstructured, request string) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfRequest(status, from.GetGeneration(), request)
	})
}

// suspended waits until the operator leaves a component alone.
func (w *waiter) suspended(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "suspended", func(status metav1alpha1.Status) progress.Report {
		return progress.OfSuspension(status, from.GetGeneration())
	})
}

// until waits until a component is what is wanted, or will not be.
func (w *waiter) until(ctx context.Context, from *unstructured.Unstructured, wanted string, judge func(metav1alpha1.Status) progress.Report) error {
	return w.follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			return false, exit.Refuse("%s was deleted while waiting for it", w.target)
		}
		if obj.GetDeletionTimestamp() != nil {
			return false, exit.Refuse("%s is being deleted", w.target)
		}
		status, err := cluster.StatusIfAny(w.target, obj)
		if err != nil {
			return false, err
		}
		w.show(judge(status))
		if w.last.Verdict == progress.Failed {
			return false, exit.Refuse("%s is not %s: %s", w.target, wanted, w.last.Summary)
		}
		return w.last.Verdict == progress.Reached, nil
	})
}

// gone waits until a component is gone. That its deletion is blocked is told at once; it may still go on before the time is up.
func (w *waiter) gone(ctx context.Context, from *unstructured.Unstructured) error {
	return w.follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			w.show(progress.Report{Verdict: progress.Reached})
			return true, nil
		}
		status, err := cluster.Status(w.target, obj)
		if err != nil {
			return false, err
		}
		w.show(progress.OfDeletion(status, from.GetGeneration()))
		return false, nil
	})
}

func (w *waiter) show(report progress.Report) {
	w.last = report
	w.display.Show(report)
}

// follow sees the component until see is content, or the time is up.
func (w *waiter) follow(ctx context.Context, from *unstructured.Unstructured, see cluster.See) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, w.timeout)
	}
	defer cancel()
	err := w.cluster.Follow(limited, from, see)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exit.Refuse("interrupted; %s goes on without being waited for: %s", w.target, w.last.Summary)
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		return exit.Refuse("timed out after %s for %s: %s", w.timeout, w.target, w.last.Summary)
	}
	return err
}
