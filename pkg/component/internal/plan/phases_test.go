package plan

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A Job of a deletion phase that failed is deleted if its manifest requires that, and runs again only when a pass is
// requested.
func TestFailedObjectsOfAPhase(t *testing.T) {
	key := manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "backup"}
	backup := manifests.Object{Key: key, Version: "v1", Scope: manifests.ScopeNamespaced, Ephemeral: true, Digest: "d.s"}
	backup.Settings.Phase, backup.Settings.PurgeFailed, backup.Stage = manifests.PhasePreDelete, true,
		manifests.StageWorkloads
	live := Observed{
		Presence: Present, Owner: us, UID: "u1", Digest: "d.s", ResourceVersion: "1", Applied: "f",
		Readiness: ready.Result{State: ready.Failed, Message: "no"},
	}
	f := Facts{
		Owner: us, PreDelete: []manifests.Object{backup}, Live: Snapshot{key: &live}, Trigger: "one",
		Inventory: Inventory{key: {
			Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "backup", UID: "u1", Digest: "d.s", Fields: "f",
			Phase: string(manifests.PhasePreDelete),
		}},
	}
	expect := func(when string, verbs ...Verb) {
		t.Helper()
		p := ForDelete(f)
		var got []Verb
		for _, a := range p.Actions {
			got = append(got, a.Verb)
		}
		if !slices.Equal(got, verbs) {
			t.Fatalf("%s: got the actions %v, want %v; waits: %v", when, got, verbs, p.Waiting)
		}
		if failed := len(p.Waiting) == 1 && p.Waiting[0].Failure != nil &&
			p.Waiting[0].Failure.Cause == CausePurged; failed != (len(verbs) == 0) {
			t.Fatalf("%s: got the waits %v", when, p.Waiting)
		}
		f.Inventory = p.Inventory
	}
	expect("when it fails", VerbDelete)
	if e := f.Inventory[key]; e.Failed != "no" || e.Trigger != "one" {
		t.Fatalf("got the entry %+v, want the failure and the request", e)
	}
	live = Observed{Presence: Absent, Confirmed: true, UID: "u1"}
	expect("when it no longer exists")
	expect("in a later pass")
	f.Trigger = "two"
	expect("when a pass is requested", VerbCreate)
	if e := f.Inventory[key]; e.Failed != "" {
		t.Fatalf("got the entry %+v, want no failure", e)
	}
}

// A Job that already ran as an ordinary dependent must run again when it belongs to a deletion phase.
func TestFormerDependents(t *testing.T) {
	key := manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "backup"}
	backup := manifests.Object{Key: key, Version: "v1", Scope: manifests.ScopeNamespaced, Ephemeral: true, Digest: "new.s"}
	backup.Settings.Phase = manifests.PhasePreDelete
	live := Observed{Presence: Present, Owner: us, UID: "u1", Digest: "old.s", ResourceVersion: "1"}
	f := Facts{
		Owner: us, PreDelete: []manifests.Object{backup}, Live: Snapshot{key: &live},
		Inventory: Inventory{key: {
			Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "backup", UID: "u1", Digest: "old.s",
			Completed: true,
		}},
	}
	expect := func(p Plan, verb Verb, phase manifests.Phase) {
		t.Helper()
		if len(p.Actions) != 1 || p.Actions[0].Verb != verb || p.Phase != phase {
			t.Fatalf("want the verb %s in the deletion phase %q, got %+v in the deletion phase %q", verb, phase,
				p.Actions, p.Phase)
		}
	}
	p := ForDelete(f)
	expect(p, VerbDelete, manifests.PhaseApply)
	f.Inventory, live = p.Inventory, Observed{Presence: Absent, Confirmed: true, UID: "u1"}
	expect(ForDelete(f), VerbCreate, manifests.PhasePreDelete)
}

// Phases of a deletion must not run if the deletion removes no dependent.
func TestPhasesAreLeftOutIfAllDependentsStay(t *testing.T) {
	claim := manifests.Key{Kind: "ConfigMap", Namespace: "shop", Name: "claim"}
	hook := manifests.Object{
		Key:     manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "drop"},
		Version: "v1", Scope: manifests.ScopeNamespaced, Ephemeral: true, Digest: "d.s",
	}
	hook.Settings.Phase, hook.Stage = manifests.PhasePreDelete, manifests.StageWorkloads
	for _, c := range []struct {
		name             string
		policy, recorded metav1alpha1.DeletePolicy
		owner            string
		runs             bool
	}{
		{"they are deleted", metav1alpha1.DeleteDelete, metav1alpha1.DeleteDelete, us, true},
		{"they are released", metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphan, us, false},
		{"one is deleted by its own policy", metav1alpha1.DeleteOrphan, metav1alpha1.DeleteDelete, us, true},
		{"that one has another owner by now", metav1alpha1.DeleteOrphan, metav1alpha1.DeleteDelete, "other", false},
		{"it has another owner, and others are deleted", metav1alpha1.DeleteDelete, metav1alpha1.DeleteDelete, "other", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Facts{
				Owner: us, PreDelete: []manifests.Object{hook}, Defaults: Policies{Delete: c.policy},
				Live: Snapshot{
					claim:    {Presence: Present, Owner: c.owner, UID: "u1", ResourceVersion: "1"},
					hook.Key: {Presence: Absent, Confirmed: true},
				},
				Inventory: Inventory{claim: {
					Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "claim", UID: "u1",
					DeletePolicy: c.recorded,
				}},
			}
			runs := slices.ContainsFunc(ForDelete(f).Actions, func(a Action) bool {
				return a.Key == hook.Key &&
					a.Verb == VerbCreate
			})
			if runs != c.runs {
				t.Errorf("the hook runs: %t, want %t", runs, c.runs)
			}
		})
	}
}
