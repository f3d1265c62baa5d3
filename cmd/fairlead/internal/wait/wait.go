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
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// Waiter waits for one component and shows its progress.
type Waiter struct {
	cluster *cluster.Cluster
	target  cluster.Target
	timeout time.Duration
	// unserved limits a wait for nothing but types that nobody serves; zero is no limit.
	unserved time.Duration
	// find returns the causes why dependents in a status are not ready, by the dependents' names.
	find func(context.Context, metav1alpha1.Status) map[string][]dependentcauses.Cause

	mu      sync.Mutex
	display progress.Display
	// last is the report on the latest status.
	last progress.Report
	// status is the latest status. It is empty as long as the status is of an older generation than the awaited one.
	status metav1alpha1.Status
	// causes is the latest result of find.
	causes map[string][]dependentcauses.Cause
	// giveUp ends the wait with a cause. unservedLimit calls it; it is nil unless only types are waited for.
	giveUp        context.CancelCauseFunc
	unservedLimit *time.Timer
}

// errUnserved is the cause of the end of a wait for types that nobody serves.
var errUnserved = errors.New("types are not served")

// New returns a Waiter that shows progress on out. A timeout of zero is no limit.
func New(c *cluster.Cluster, target cluster.Target, timeout time.Duration, out io.Writer) *Waiter {
	return &Waiter{
		cluster: c, target: target, timeout: timeout, display: progress.NewDisplay(out),
		find: func(ctx context.Context, status metav1alpha1.Status) map[string][]dependentcauses.Cause {
			return dependentcauses.OfStatus(ctx, c, status)
		},
	}
}

// LimitUnserved sets how long Ready and Answered wait while the component waits for nothing but types that the API
// server does not serve, and that nothing in the component defines. Zero is no limit.
func (w *Waiter) LimitUnserved(limit time.Duration) *Waiter {
	w.unserved = limit
	return w
}

// Ready waits until the component is Ready for the generation of from.
func (w *Waiter) Ready(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfApply(status, from.GetGeneration())
	})
}

// Answered waits until the operator has acknowledged a request for a pass and the component is Ready.
func (w *Waiter) Answered(ctx context.Context, from *unstructured.Unstructured, request string) error {
	return w.until(ctx, from, "ready", func(status metav1alpha1.Status) progress.Report {
		return progress.OfRequest(status, from.GetGeneration(), request)
	})
}

// Suspended waits until the status says that the operator has suspended the component.
func (w *Waiter) Suspended(ctx context.Context, from *unstructured.Unstructured) error {
	return w.until(ctx, from, "suspended", func(status metav1alpha1.Status) progress.Report {
		return progress.OfSuspension(status, from.GetGeneration())
	})
}

// until waits until the result of report is Reached. It returns an error if the result is Failed, or if the component
// is being deleted.
func (w *Waiter) until(
	ctx context.Context, from *unstructured.Unstructured, wanted string, report func(metav1alpha1.Status) progress.Report,
) error {
	return w.follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			return false, exit.Refuse("%s was deleted during the wait", w.target)
		}
		if obj.GetDeletionTimestamp() != nil {
			return false, exit.Refuse("%s is being deleted; %s shows what it waits for", w.target, w.target.Command("status"))
		}
		status, err := cluster.StatusIfAny(w.target, obj)
		if err != nil {
			return false, err
		}
		answer := report(status)
		w.show(answer, current(status, from))
		if answer.Result == progress.Failed {
			advice := ""
			if command := cluster.Grant(w.target, obj, status); command != "" {
				advice = "; this grants the rights that its objects need: " + command
			}
			return false, exit.Refuse("%s is not %s: %s%s", w.target, wanted, w.summary(ctx), advice)
		}
		return answer.Result == progress.Reached, nil
	})
}

// Deleted waits until the component no longer exists. It shows at once that a deletion is blocked, but continues to
// wait, because the deletion proceeds when the blocker is deleted.
func (w *Waiter) Deleted(ctx context.Context, from *unstructured.Unstructured) error {
	return w.follow(ctx, from, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil {
			w.show(progress.Report{Result: progress.Reached}, metav1alpha1.Status{})
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

// current returns the status if it is of the generation of from or a newer one, and an empty status otherwise.
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
	w.limitUnserved(report.Unserved)
	w.draw()
}

// limitUnserved starts the limit of a wait for types, or ends it. The caller holds the lock.
func (w *Waiter) limitUnserved(unserved bool) {
	switch {
	case !unserved && w.unservedLimit != nil:
		w.unservedLimit.Stop()
		w.unservedLimit = nil
	case unserved && w.unservedLimit == nil && w.unserved > 0 && w.giveUp != nil:
		giveUp := w.giveUp
		w.unservedLimit = time.AfterFunc(w.unserved, func() { giveUp(errUnserved) })
	}
}

// draw shows the latest report and the causes. The caller holds the lock.
func (w *Waiter) draw() {
	report := w.last
	if report.Result == progress.Waiting {
		report.Lines = slices.Clone(report.Lines)
		for _, c := range causesOf(w.status, w.causes) {
			report.Lines = append(report.Lines, "cause: "+c)
		}
	}
	w.display.Show(report)
}

// causesOf returns a line for each cause of the dependents that the component waits for, in the order of the status. A
// cause that the operator has entered into the status is left out.
func causesOf(status metav1alpha1.Status, found map[string][]dependentcauses.Cause) []string {
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

// causesInterval is the time between two searches for causes during a wait. The first search begins after one interval,
// so that a shorter rollout causes no requests.
const causesInterval = 15 * time.Second

// watchCauses searches for causes at intervals and shows them, until the context ends.
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

// summary returns the summary of the latest report with the current causes.
func (w *Waiter) summary(ctx context.Context) string {
	w.mu.Lock()
	summary, status := w.last.Summary, w.status
	w.mu.Unlock()
	if lines := causesOf(status, w.find(ctx, status)); len(lines) > 0 {
		summary += "; cause: " + strings.Join(lines, "; ")
	}
	return summary
}

// follow calls see with each state of the component until see returns true or an error, or until the timeout.
func (w *Waiter) follow(ctx context.Context, from *unstructured.Unstructured, see cluster.See) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, w.timeout)
	}
	defer cancel()
	watching, stop := context.WithCancelCause(limited)
	w.giveUp = stop
	var watch sync.WaitGroup
	watch.Go(func() { w.watchCauses(watching) })
	err := w.cluster.Follow(watching, from, see)
	gaveUp := errors.Is(context.Cause(watching), errUnserved)
	stop(nil)
	// The goroutine of watchCauses must not show causes after the end of the wait.
	watch.Wait()
	w.mu.Lock()
	w.limitUnserved(false)
	w.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exit.Refuse("interrupted; the operator continues to work on %s: %s", w.target, w.last.Summary)
	case gaveUp:
		return exit.Refuse("gave up after %s on %s: %s; it continues by itself when the types are served",
			w.unserved, w.target, w.last.Summary)
	case errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil:
		return exit.Refuse("timed out after %s for %s: %s", w.timeout, w.target, w.summary(ctx))
	}
	return err
}
