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
		{"without a response the state of the watch is used", watched, nil, watched},
		{"a newer response is used", watched, in("6"), *in("6")},
		{"a response of the same version is used, because it has more details", watched, in("5"), *in("5")},
		{"a newer watch event is used", watched, in("4"), watched},
		{"a response is used if the watch shows no object", plan.Observed{Presence: plan.Absent}, in("4"), *in("4")},
		{"a response is used if the watch does not work", plan.Observed{Presence: plan.Unknown}, absent, *absent},
		{"a deleted object stays absent while the watch is late", watched, absent, *absent},
		{"a deleted object stays absent if the late watch shows its last event before the deletion", in7, absent, *absent},
		{"the recreated object is used after a deletion", other("6"), absent, other("6")},
		{"an earlier object of the same name is ignored after a deletion", other("4"), absent, *absent},
		{
			"if no version of an absent object is known, the state of the watch is used",
			other("4"), &plan.Observed{Presence: plan.Absent, Confirmed: true}, other("4"),
		},
		{
			"a response about a recreated object is used while the watch shows the earlier object",
			other("4"), in("5"), *in("5"),
		},
		{
			"the state of the watch is used if it shows an object that replaced the object of the response",
			other("6"), in("5"), other("6"),
		},
		{
			"the coverage of the response is used while no other client takes over a field",
			written("5", plan.CoverageUnknown, same), &covered,
			written("5", plan.CoverageFull, same),
		},
		{
			"a partial coverage of the response is ignored", written("5", plan.CoverageUnknown, same), &partial,
			written("5", plan.CoverageUnknown, same),
		},
		{
			"the coverage of the response is ignored if another client takes over an applied field",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Applied = "fewer" }),
		},
		{
			"the coverage of the response is ignored if another client takes over an updated field",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Updated = "fewer" }),
		},
		{
			"the coverage of the response is ignored if another manifest was applied",
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }), &covered,
			written("5", plan.CoverageUnknown, func(o *plan.Observed) { o.Digest = "e" }),
		},
		{
			"the coverage of the response is ignored for a recreated object",
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
