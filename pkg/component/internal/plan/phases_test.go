package plan

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A Job that already ran as an ordinary dependent must run again when it belongs to a deletion phase.
func TestFormerDependents(t *testing.T) {
	key := manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "backup"}
	backup := manifests.Object{Key: key, Version: "v1", Scope: manifests.ScopeNamespaced, Ephemeral: true, Digest: "new.s"}
	backup.Settings.Phase = manifests.PhasePreDelete
	live := Observed{Presence: Present, Owner: us, UID: "u1", Digest: "old.s", ResourceVersion: "1"}
	f := Facts{
		Owner: us, PreDelete: []manifests.Object{backup}, Live: Snapshot{key: &live},
		Inventory: Inventory{key: {
			Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "backup", UID: "u1", Digest: "old.s", Completed: true,
		}},
	}
	expect := func(p Plan, verb Verb, phase manifests.Phase) {
		t.Helper()
		if len(p.Actions) != 1 || p.Actions[0].Verb != verb || p.Phase != phase {
			t.Fatalf("want the verb %s in the deletion phase %q, got %+v in the deletion phase %q", verb, phase, p.Actions, p.Phase)
		}
	}
	p := ForDelete(f)
	expect(p, VerbDelete, manifests.PhaseApply)
	f.Inventory, live = p.Inventory, Observed{Presence: Absent, Confirmed: true, UID: "u1"}
	expect(ForDelete(f), VerbCreate, manifests.PhasePreDelete)
}
