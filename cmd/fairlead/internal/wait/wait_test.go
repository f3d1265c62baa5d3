package wait

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/causes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// shown is a display that stores the lines of the latest report.
type shown struct{ lines []string }

func (s *shown) Show(report progress.Report) { s.lines = report.Lines }

func TestCausesAreShownWhenWaitingLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const job = "Job.batch shop/migrate"
		display := &shown{}
		w := &Waiter{
			display: display,
			find: func(context.Context, metav1alpha1.Status) map[string][]causes.Cause {
				return map[string][]causes.Cause{job: {{Object: job, Reason: "FailedCreate", Message: "no account"}}}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		go w.watchCauses(ctx)
		waiting := progress.Report{Verdict: progress.Waiting, Lines: []string{"waiting"}, Summary: "waiting"}
		status := metav1alpha1.Status{Waiting: []metav1alpha1.DependentReport{{Dependent: job, Reason: "InProgress"}}}
		w.show(waiting, status)

		check := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, display.lines); diff != "" {
				t.Error(diff)
			}
		}
		time.Sleep(causesInterval - time.Second)
		check("waiting")
		time.Sleep(time.Second)
		check("waiting", "cause: "+job+": FailedCreate: no account")
		w.show(waiting, metav1alpha1.Status{})
		check("waiting") // The component does not wait for the dependent any more.
		w.show(progress.Report{Verdict: progress.Reached, Lines: []string{"ready"}}, status)
		check("ready")
		cancel()
		synctest.Wait()
	})
}
