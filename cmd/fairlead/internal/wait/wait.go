package wait

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/causes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// Waiter waits for one component and shows its progress.
type Waiter struct {
	cluster *cluster.Cluster
	target  cluster.Target
	timeout time.Duration
	// find returns the causes of the dependents in a status that are not ready, by their names.
	find func(context.Context, metav1alpha1.Status) map[string][]causes.Cause

	mu      sync.Mutex
	display progress.Display
	// last is the report on the latest status.
	last progress.Report
	// status is the latest status if it is of the generation that is waited for.
	status metav1alpha1.Status
	// causes are those that were found last.
	causes map[string][]causes.Cause
}

// New returns a Waiter that shows progress on out. A timeout of zero is no limit.
func New(c *cluster.Cluster, target cluster.Target, timeout time.Duration, out io.Writer) *Waiter {
	return &Waiter{
		cluster: c, target: target, timeout: timeout, display: progress.NewDisplay(out),
		find: func(ctx context.Context, status metav1alpha1.Status) map[string][]causes.Cause {
			return causes.OfStatus(ctx, c, status)
		},
	}
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
		answer := report(status)
		w.show(answer, current(status, from))
		if answer.Verdict == progress.Failed {
			return false, exit.Refuse("%s is not %s: %s", w.target, wanted, w.summary(ctx))
		}
		return answer.Verdict == progress.Reached, nil
	})
}

// Gone waits until the component is gone. A blocked deletion is shown at once, but the wait continues: the deletion
// proceeds by itself when the blocker is gone.
func (w *Waiter) Gone(ctx context.Context, from *unstructured.Unstructured) error {
	return w.follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			w.show(progress.Report{Verdict: progress.Reached}, metav1alpha1.Status{})
			return true, nil
		}
		status, err := cluster.Status(w.target, obj)
		if err != nil {
			return false, err
		}
		w.show(progress.OfDeletion(status, from.GetGeneration()), current(status, from))
		return false, nil
	})
}

// current returns the status if it is of the generation that is waited for, and an empty status otherwise.
func current(status metav1alpha1.Status, from *unstructured.Unstructured) metav1alpha1.Status {
	if status.ObservedGeneration < from.GetGeneration() {
		return metav1alpha1.Status{}
	}
	return status
}

func (w *Waiter) show(report progress.Report, status metav1alpha1.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last, w.status = report, status
	w.draw()
}

// draw shows the latest report and the causes. The caller holds the lock.
func (w *Waiter) draw() {
	report := w.last
	if report.Verdict == progress.Waiting {
		report.Lines = slices.Clone(report.Lines)
		for _, c := range causesOf(w.status, w.causes) {
			report.Lines = append(report.Lines, "cause: "+c)
		}
	}
	w.display.Show(report)
}

// causesOf returns the causes of the dependents that the component waits for, one a line, in the order of the status. A
// cause that the operator has entered into the status is left out.
func causesOf(status metav1alpha1.Status, found map[string][]causes.Cause) []string {
	var lines []string
	for _, waiting := range status.Waiting {
		for _, c := range found[waiting.Dependent] {
			if !c.IsIn(waiting.Message) {
				lines = append(lines, c.String())
			}
		}
	}
	return lines
}

// causesInterval is the time between two searches for causes during a wait. The first search comes after one interval,
// so a rollout that ends before it costs no requests.
const causesInterval = 15 * time.Second

// watchCauses looks for causes at intervals, and shows them, until the context ends.
func (w *Waiter) watchCauses(ctx context.Context) {
	ticker := time.NewTicker(causesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.mu.Lock()
			status := w.status
			w.mu.Unlock()
			found := w.find(ctx, status)
			w.mu.Lock()
			if ctx.Err() == nil {
				w.causes = found
				w.draw()
			}
			w.mu.Unlock()
		}
	}
}

// summary returns the summary of the latest report with the causes as they are now.
func (w *Waiter) summary(ctx context.Context) string {
	w.mu.Lock()
	summary, status := w.last.Summary, w.status
	w.mu.Unlock()
	if lines := causesOf(status, w.find(ctx, status)); len(lines) > 0 {
		summary += "; cause: " + strings.Join(lines, "; ")
	}
	return summary
}

// follow calls see with each state of the component until see returns true, or the time is up.
func (w *Waiter) follow(ctx context.Context, from *unstructured.Unstructured, see cluster.See) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, w.timeout)
	}
	defer cancel()
	watching, stop := context.WithCancel(limited)
	var watch sync.WaitGroup
	watch.Go(func() { w.watchCauses(watching) })
	err := w.cluster.Follow(limited, from, see)
	stop()
	// Nothing may be shown after the end of the wait.
	watch.Wait()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exit.Refuse("interrupted; the operator continues to work on %s: %s", w.target, w.last.Summary)
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		return exit.Refuse("timed out after %s for %s: %s", w.timeout, w.target, w.summary(ctx))
	}
	return err
}
