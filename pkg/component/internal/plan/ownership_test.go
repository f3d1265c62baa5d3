package plan

import (
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

func TestManagedFieldsArePutInOrder(t *testing.T) {
	managers := func(names ...string) func(*scene) {
		return func(s *scene) { s.live.Managers = names }
	}
	merging := func(s *scene) { s.defaults.Update = metav1alpha1.UpdateSSAMerge }
	updated := func(s *scene) { s.live.Updated = "f3" }
	for _, c := range []struct {
		name              string
		scene             []func(*scene)
		migrate, takeOver bool
	}{
		{"an update of what is ours alone costs no read", edits(newManifest), false, false},
		{"nor does one of what others added to", edits(newManifest, managers("somebody")), false, false},
		{"what an earlier policy left under regular updates is moved", edits(newManifest, updated), true, false},
		{"what kubectl edited becomes ours at the next write", edits(newManifest, managers("somebody", "kubectl-edit")), true, true},
		{"also where the write is a repair", edits(drifted, managers("kubectl-edit")), true, true},
		{"what Helm made becomes ours when it is adopted", edits(unrecorded, unowned, managers("helm")), true, true},
		{"what a manager made that is configured, too", edits(unrecorded, unowned, managers("argocd-controller")), true, true},
		{"what others made is left to them", edits(unrecorded, unowned, managers("somebody")), false, false},
		{"under ssa-merge kubectl keeps what it added later", edits(merging, newManifest, managers("kubectl-edit")), false, false},
		{"under ssa-merge kubectl leaves us what we set when we adopt", edits(merging, unrecorded, unowned, managers("kubectl-create")), true, false},
		{"the same holds for adoption in place, where changes recreate", edits(recreating, unrecorded, unowned, managers("kubectl-create")), true, false},
		{"what nobody manages is forgotten", edits(merging, newManifest, managers("before-first-apply")), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(c.scene)
			facts := s.facts()
			facts.PreviousManagers = append([]string{"argocd-controller"}, PreviousManagers...)
			a := decide(applyRules, newCandidate(facts, &s.object)).action
			if a == nil || a.Verb != VerbApply || a.Migrate != c.migrate || a.TakeAllFields != c.takeOver {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestHandsOver(t *testing.T) {
	merge := Action{PreviousManagers: PreviousManagers}
	override := Action{PreviousManagers: PreviousManagers, TakeAllFields: true}
	for _, c := range []struct {
		manager         string
		merge, override FieldTransfer
	}{
		{"kubectl-client-side-apply", TransferShared, TransferAll},
		{"helm", TransferShared, TransferAll},
		{"somebody", TransferNone, TransferNone},
		{"kubectl-rollout", TransferNone, TransferNone},
		{"kubectl-label", TransferNone, TransferNone},
		{"kube-controller-manager", TransferNone, TransferNone},
		{"before-first-apply", TransferToNobody, TransferToNobody},
	} {
		t.Run(c.manager, func(t *testing.T) {
			if m, o := merge.TransferOf(c.manager), override.TransferOf(c.manager); m != c.merge || o != c.override {
				t.Errorf("got %s, %s", m, o)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name  string
		scene []func(*scene)
		want  string
	}{
		{"to recreate", edits(newManifest), "keep its value, set the update policy recreate, or delete the object first"},
		{"not to recreate what already is", edits(recreating, drifted), "keep its value, or delete the object first"},
		{"not to recreate a claim", edits(newManifest, claim), "keep its value, or delete the object first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := decide(applyRules, newScene(c.scene).candidate()).action; a == nil || a.Advice != c.want {
				t.Errorf("got %+v", a)
			}
		})
	}
}
