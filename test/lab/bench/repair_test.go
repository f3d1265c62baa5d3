package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestRepairsAreFoundBehindForeignWrites(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	foreign := testcluster.Event{
		UserAgent: foreignAgent, Verb: "patch", Resource: "configmaps", Namespace: "a", Name: "x",
		Code: 200, Answered: at(100),
	}
	own := testcluster.Event{
		UserAgent: operatorAgent + "/dev", Verb: "patch", Resource: "configmaps", Namespace: "a",
		Name: "x", Code: 200, Answered: at(130),
	}
	conflict, other, status, read := own, own, own, own
	conflict.Code, conflict.Answered = 409, at(120)
	other.Name = "y"
	status.Subresource = "status"
	read.Verb = "get"
	for name, c := range map[string]struct {
		events testcluster.Events
		want   []repaired
	}{
		"one write":                 {testcluster.Events{foreign, own}, []repaired{{30 * time.Millisecond, 1}}},
		"two writes after one edit": {testcluster.Events{foreign, own, own}, []repaired{{30 * time.Millisecond, 2}}},
		"a write before the edit":   {testcluster.Events{own, foreign}, []repaired{}},
		"a write to another object than the edited object": {testcluster.Events{foreign, other}, []repaired{}},
		"a read, and a write to the status":                {testcluster.Events{foreign, read, status}, []repaired{}},
		"a refused write does not count as a repair":       {testcluster.Events{foreign, conflict}, []repaired{}},
		"a refused write counts with the repair": {
			testcluster.Events{foreign, conflict, own},
			[]repaired{{30 * time.Millisecond, 2}},
		},
	} {
		if got := repairs(c.events); !slices.Equal(got, c.want) {
			t.Errorf("%s: want the repairs %v, got %v", name, c.want, got)
		}
	}
}

func TestEditsHitEachObjectOnceAndAllKinds(t *testing.T) {
	edits := chooseEdits(rand.New(rand.NewPCG(repairSeed, 0)), "a", size{dependents: 1000, edits: 200})
	seen, kinds := map[edit]bool{}, map[string]bool{}
	for _, e := range edits {
		kinds[e.resource.Resource] = true
		e.deletes = false
		seen[e] = true
	}
	if len(edits) != 200 || len(seen) != 200 || len(kinds) != len(tenKinds) {
		t.Errorf("got %d edits of %d objects of %d kinds, want 200 edits of 200 objects of ten kinds", len(edits),
			len(seen), len(kinds))
	}
}
