package component

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
)

// What a plan is made from, while nothing is written, is what would be observed after each write.

// pretendedFields stands for the managed fields that a write would leave.
const pretendedFields = "pretended"

// pretendApplied is an object that was applied and has become ready.
func pretendApplied(a plan.Action, was plan.Observed) plan.Observed {
	o := plan.Observed{
		Presence: plan.Present, UID: was.UID, ResourceVersion: was.ResourceVersion, Generation: was.Generation, Owner: a.Owner, Coverage: plan.CoverageFull,
		Applied: pretendedFields, Updated: pretendedFields, Readiness: ready.Result{State: ready.Ready},
	}
	if was.Presence != plan.Present {
		o.UID = types.UID(fmt.Sprintf("%s %s", pretendedFields, a.Key))
	}
	if a.Object != nil {
		o.Digest = a.Object.Digest
	}
	return o
}

// pretendReady is an object that was waited for.
func pretendReady(o plan.Observed) plan.Observed {
	o.Readiness = ready.Result{State: ready.Ready}
	return o
}

// pretendGone is an object that was deleted.
func pretendGone(was plan.Observed) plan.Observed {
	return plan.Observed{Presence: plan.Absent, Confirmed: true, UID: was.UID, ResourceVersion: was.ResourceVersion, Finished: was.Finished}
}

// pretendReleased is an object that bears no trace of its owner any more.
func pretendReleased(was plan.Observed) plan.Observed {
	return plan.Observed{
		Presence: plan.Present, UID: was.UID, ResourceVersion: was.ResourceVersion, Generation: was.Generation, Readiness: was.Readiness,
	}
}

// pretendGuarded is a guard that has held for long enough.
func pretendGuarded(g plan.Guard, a plan.Action, now time.Time) plan.Guard {
	long := now.Add(-time.Minute)
	g.Definitions, g.SetUp, g.Probed, g.Held = nil, long, long, long
	for _, d := range a.Definitions {
		g.Definitions = append(g.Definitions, d.Name)
	}
	return g
}
