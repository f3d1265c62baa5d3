package wait

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// Waiter waits for one component and shows its progress.
type Waiter struct {
	cluster *cluster.Cluster
	target  cluster.Target
	timeout time.Duration
	display progress.Display
	// last is the report on the latest status.
	last progress.Report
}

// New returns a Waiter that shows progress on out. A timeout of zero is no limit.
func New(c *cluster.Cluster, target cluster.Target, timeout time.Duration, out io.Writer) *Waiter {
	return &Waiter{cluster: c, target: target, timeout: timeout, display: progress.NewDisplay(out)}
}

// Ready waits until the component is Ready for the generation of from.
func (w *Waiter) Ready(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfApply(status, from.GetGeneration())
	})
}

// Answered waits until the operator has acknowledged a request for a pass, and the component is Ready.
func (w *Waiter) Answered(ctx context.Context, from *unstructured.Unstructured, request string) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfRequest(status, from.GetGeneration(), request)
	})
}

// Suspended waits until the operator has recorded that the component is suspended.
func (w *Waiter) Suspended(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "suspended", func(status metav1alpha1.Status) progress.Report {
		return progress.OfSuspension(status, from.GetGeneration())
	})
}

// until waits until report is Reached. It is an error if report is Failed, or if the component is being deleted.
func (w *Waiter) until(
	ctx context.Context, from *unstructured.Unstructured, wanted string, report func(metav1alpha1.Status) progress.Report,
) error {
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
		w.show(report(status))
		if w.last.Verdict == progress.Failed {
			return false, exit.Refuse("%s is not %s: %s", w.target, wanted, w.last.Summary)
		}
		return w.last.Verdict == progress.Reached, nil
	})
}

// Gone waits until the component is gone. A blocked deletion is shown at once, but the wait continues: the deletion
// proceeds by itself when the blocker is gone.
func (w *Waiter) Gone(ctx context.Context, from *unstructured.Unstructured) error {
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

func (w *Waiter) show(report progress.Report) {
	w.last = report
	w.display.Show(report)
}

// follow calls see with each state of the component until see returns true, or the time is up.
func (w *Waiter) follow(ctx context.Context, from *unstructured.Unstructured, see cluster.See) error {
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
		return exit.Refuse("interrupted; the operator continues to work on %s: %s", w.target, w.last.Summary)
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		return exit.Refuse("timed out after %s for %s: %s", w.timeout, w.target, w.last.Summary)
	}
	return err
}
