package reconcile

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/internal/turn"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
)

// dependentBytes is an estimate of the memory that a pass takes for a dependent: its entry, the facts and the plan.
const dependentBytes = 2 << 10

// reserve reserves memory for the plan of a number of dependents.
func reserve(ctx context.Context, dependents int) error {
	return budget.Reserve(ctx, int64(dependents)*dependentBytes)
}

// waits ends the use of memory by a pass, and reports whether the pass ended because memory was not available, because
// other components render, or because other components may change; see settlesError.
func waits(lease *budget.Lease, o outcome.Outcome, err error) bool {
	if err == nil && !o.Observing {
		lease.Succeed()
		return false
	}
	return lease.Waits() || errors.Is(err, turn.ErrLater) || settles(err)
}

// maxWait is the delay before the next pass over a component that waits for memory or for its turn to render. The pass
// is started earlier, when the memory is available or the component is next.
const maxWait = 10 * time.Minute

// wait ends a pass without a report, because others use the memory or render, or because others may change. All that
// the pass holds is dropped, and its worker is free for other components. cause is the error that ended the pass.
func (r *Runner) wait(
	ctx context.Context, c *Component, lease *budget.Lease, o outcome.Outcome, cause error,
) time.Duration {
	var result string
	var after time.Duration
	if settling, ok := errors.AsType[*settlesError](cause); ok && !lease.Waits() {
		result, after = telemetry.ResultObserving, c.State.Schedule.Wait(settling.after, r.Clock.Now())
	} else if lease.Waits() {
		result, after = telemetry.ResultWaiting, c.State.Schedule.End(maxWait, r.MinInterval, r.Clock.Now())
		r.Sources.ForgetSource(c.Name())
		log.FromContext(ctx).Info("waits for memory, because other components use it", "bytes", lease.Needs())
	} else {
		result, after = telemetry.ResultWaitingForTurn, c.State.Schedule.Wait(maxWait, r.Clock.Now())
		log.FromContext(ctx).Info("waits for its turn to render, because other components render")
	}
	r.Metrics.Pass(ctx, result, nil)
	r.tellChanges(ctx, c, o)
	return after
}
