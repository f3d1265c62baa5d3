package applier

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

func TestNewest(t *testing.T) {
	watched := plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: "5"}
	in := func(version string) *plan.Observed {
		return &plan.Observed{Presence: plan.Present, UID: "u1", ResourceVersion: version, Values: "v"}
	}
	absent := &plan.Observed{Presence: plan.Absent, Confirmed: true, UID: "u1", ResourceVersion: "5"}
	other := func(version string) plan.Observed {
		return plan.Observed{Presence: plan.Present, UID: "u2", ResourceVersion: version}
	}
	in7 := watched
	in7.ResourceVersion = "7"
	written := func(version string, coverage plan.Coverage, change func(*plan.Observed)) plan.Observed {
		o := plan.Observed{
			Presence: plan.Present, UID: "u1", ResourceVersion: version, Digest: "d", Applied: "fields", Coverage: coverage,
		}
		change(&o)
		return o
	}
	same := func(*plan.Observed) {}
	covered, partial := written("4", plan.CoverageFull, same), written("4", plan.CoveragePartial, same)
	for _, c := range []struct {
		name     string
		watched  plan.Observed
		answered *plan.Observed
		want     plan.Observed
	}{
		{"without an answer the watch counts", watched, nil, watched},
		{"a newer answer counts", watched, in("6"), *in("6")},
		{"an answer of the same version counts, because it has more details", watched, in("5"), *in("5")},
		{"a newer event counts", watched, in("4"), watched},
		{"an answer counts if the watch shows no object", plan.Observed{Presence: plan.Absent}, in("4"), *in("4")},
		{"an answer counts if the watch does not work", plan.Observed{Presence: plan.Unknown}, absent, *absent},
		{"a deleted object stays absent while the watch is late", watched, absent, *absent},
		{"a deleted object stays absent if the late watch shows its last event before the deletion", in7, absent, *absent},
		{"the successor of a deleted object counts", other("6"), absent, other("6")},
		{"the predecessor of a deleted object does not count", other("4"), absent, *absent},
		{
			"if no version of an absent object is known, the watch counts",
			other("4"), &plan.Observed{Presence: plan.Absent, Confirmed: true}, other("4"),
		},
		{"an answer about the successor counts while the watch shows the predecessor", other("4"), in("5"), *in("5")},
		{"the watch counts if it shows the successor of the answered object", other("6"), in("5"), other("6")},
		{
			"answered coverage holds while no other client takes a field", written("5", plan.CoverageUnknown, same), &covered,
			written("5", plan.CoverageFull, same),
		},
		{
			"partial coverage does not hold", written("5", plan.CoverageUnknown, same), &partial,
			written("5", plan.CoverageUnknown, same),
		},
		{
			"answered coverage ends when an applied field is taken",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }),
		},
		{
			"answered coverage ends when an updated field is taken",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }),
		},
		{
			"answered coverage ends when another manifest was applied",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }),
		},
		{
			"answered coverage does not hold for a successor",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.UID = "u2" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.UID = "u2" }),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newest(c.watched, plan.Result{Observed: c.answered})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
