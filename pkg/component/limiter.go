package component

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/schedule"
)

// Limiter limits the rate of passes over each component. A Limiter must be safe for concurrent use, and must not block.
// A pass that only waits for the first list of a watch is not counted.
type Limiter interface {
	// Delay returns how long the next pass over a component has to wait. Zero or less means that it may begin now. Delay
	// is called again when the pass begins after that time. The pass handles all events that arrive in the meantime.
	Delay(component types.NamespacedName, now time.Time) time.Duration
	// Passed is called at the end of a pass.
	Passed(component types.NamespacedName, now time.Time)
	// Forget is called when a component does not exist any more.
	Forget(component types.NamespacedName)
}

// PassesWithin returns a Limiter that permits at most count passes over a component within each period. Up to count
// passes may follow each other without a delay. If count or period is not positive, there is no limit.
func PassesWithin(count int, period time.Duration) Limiter { return schedule.NewWindow(count, period) }
