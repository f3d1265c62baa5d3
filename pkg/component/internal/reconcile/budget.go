package reconcile

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/telemetry"
)

// dependentBytes is an estimate of the memory that a pass takes for a dependent: its entry, the facts and the plan.
const dependentBytes = 2 << 10

// reserve reserves memory for the plan of a number of dependents.
func reserve(ctx context.Context, dependents int) error {
	return budget.Reserve(ctx, int64(dependents)*dependentBytes)
}

// lackedMemory ends the use of memory by a pass, and reports whether the pass failed because memory was not available.
func lackedMemory(lease *budget.Lease, o outcome.Outcome, err error) bool {
	if err == nil && !o.Observing {
		lease.Succeed()
		return false
	}
	return lease.Waits()
}

// maxWaitForMemory is the delay before the next pass over a component that waits for memory. The budget starts the pass
// earlier, when the memory is available.
const maxWaitForMemory = 10 * time.Minute

// waitForMemory ends a pass without a report, because the memory for it is not available. All that the pass holds is
// dropped, so that others can use the memory.
func (r *Runner) waitForMemory(
	ctx context.Context, c *Component, lease *budget.Lease, o outcome.Outcome,
) time.Duration {
	r.Sources.ForgetSource(c.Name())
	r.Metrics.Pass(ctx, telemetry.ResultWaiting, nil)
	r.tellChanges(ctx, c, o)
	log.FromContext(ctx).Info("waits for memory, because other components use it", "bytes", lease.Needs())
	return c.Memory.Schedule.End(maxWaitForMemory, r.MinInterval, r.Clock.Now())
}
