package preview

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// simulatedFields replaces the hash of our managed fields after a simulated write.
const simulatedFields = "simulated"

// simulateApplied returns the state of an object that was applied and is ready.
func simulateApplied(a plan.Action, was plan.Observed) plan.Observed {
	o := plan.Observed{
		Presence:        plan.Present,
		UID:             was.UID,
		ResourceVersion: was.ResourceVersion,
		Generation:      was.Generation,
		Owner:           a.Owner,
		Coverage:        plan.CoverageFull,
		Applied:         simulatedFields,
		Updated:         simulatedFields,
		Readiness:       ready.Result{State: ready.Ready},
	}
	if was.Presence != plan.Present {
		o.UID = types.UID(fmt.Sprintf("%s %s", simulatedFields, a.Key))
	}
	if a.Object != nil {
		o.Digest = a.Object.Digest
	}
	if a.Key.IsExternal() {
		o.Exports = was.Exports // An export of a simulated object counts as unchanged.
	}
	return o
}

// simulateReady returns the state of an object that has become ready.
func simulateReady(o plan.Observed) plan.Observed {
	o.Readiness = ready.Result{State: ready.Ready}
	return o
}

// simulateDeleted returns the state of a deleted object.
func simulateDeleted(was plan.Observed) plan.Observed {
	return plan.Observed{
		Presence:        plan.Absent,
		Confirmed:       true,
		UID:             was.UID,
		ResourceVersion: was.ResourceVersion,
		Finished:        was.Finished,
	}
}

// simulateReleased returns the state of an object after it was orphaned: without owner and digest.
func simulateReleased(was plan.Observed) plan.Observed {
	return plan.Observed{
		Presence:        plan.Present,
		UID:             was.UID,
		ResourceVersion: was.ResourceVersion,
		Generation:      was.Generation,
		Readiness:       was.Readiness,
	}
}

// simulateGuarded returns a guard that has been in effect for long enough.
func simulateGuarded(g plan.Guard, a plan.Action, now time.Time) plan.Guard {
	long := now.Add(-time.Minute)
	g.Definitions, g.SetUp, g.Probed, g.EffectiveSince = nil, long, long, long
	for _, d := range a.Definitions {
		g.Definitions = append(g.Definitions, d.Name)
	}
	return g
}
