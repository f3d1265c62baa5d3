package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
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
			find: func(context.Context, metav1alpha1.Status) map[string][]dependentcauses.Cause {
				return map[string][]dependentcauses.Cause{job: {{Object: job, Reason: "FailedCreate", Message: "no account"}}}
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		go w.watchCauses(ctx)
		waiting := progress.Report{Result: progress.Waiting, Lines: []string{"waiting"}, Summary: "waiting"}
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
		w.show(progress.Report{Result: progress.Reached, Lines: []string{"ready"}}, status)
		check("ready")
		cancel()
		synctest.Wait()
	})
}

func TestAWaitForTypesAloneHasALimitOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		// limit is the argument of LimitUnserved. The component reports its state each second. An element of states is
		// true if in this second the component waits only for types that are not served.
		limit  time.Duration
		states []bool
		// ends is the second in which the wait ends. It is 0 if the wait does not end.
		ends int
	}{
		{"it ends when the time is up", 3 * time.Second, []bool{true, true, true, true, true}, 3},
		{"it goes on while something else is waited for", 3 * time.Second, []bool{false, false, false, false, false}, 0},
		{
			"it begins again after something else was waited for", 3 * time.Second,
			[]bool{true, true, false, true, true, true, true},
			6,
		},
		{"it has no limit if that is zero", 0, []bool{true, true, true, true, true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := (&Waiter{display: &shown{}}).LimitUnserved(c.limit)
				ctx, giveUp := context.WithCancelCause(t.Context())
				w.giveUp = giveUp
				ended := 0
				for second, unserved := range c.states {
					w.show(progress.Report{Result: progress.Waiting, Unserved: unserved}, metav1alpha1.Status{})
					time.Sleep(time.Second)
					synctest.Wait()
					if ctx.Err() != nil && ended == 0 {
						ended = second + 1
					}
				}
				if ended != c.ends {
					t.Errorf("the wait ended in second %d, want %d (0: not at all)", ended, c.ends)
				}
				if c.ends > 0 && !errors.Is(context.Cause(ctx), errUnserved) {
					t.Errorf("the wait ended because of %v, want errUnserved", context.Cause(ctx))
				}
				giveUp(nil)
				w.limitUnserved(false)
			})
		})
	}
}
