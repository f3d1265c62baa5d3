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
		{"the update of an object with only the reconciler's fields costs no read", edits(newManifest), false, false},
		{
			"the update of an object to which other clients added fields costs no read",
			edits(newManifest, managers("somebody")), false, false,
		},
		{"fields in the Update entry of an earlier update policy are moved", edits(newManifest, updated), true, false},
		{
			"fields that kubectl edited are taken over at the next write",
			edits(newManifest, managers("somebody", "kubectl-edit")), true, true,
		},
		{"fields that kubectl edited are taken over by a repair", edits(drifted, managers("kubectl-edit")), true, true},
		{"fields that Helm applied are taken over by an adoption", edits(unrecorded, unowned, managers("helm")), true, true},
		{
			"fields of a configured previous manager are taken over by an adoption",
			edits(unrecorded, unowned, managers("argocd-controller")), true, true,
		},
		{"fields of other managers are not taken over", edits(unrecorded, unowned, managers("somebody")), false, false},
		{
			"with ssa-merge, kubectl keeps the fields that it added later",
			edits(merging, newManifest, managers("kubectl-edit")), false, false,
		},
		{
			"with ssa-merge, an adoption takes over the fields of kubectl that the manifest sets",
			edits(merging, unrecorded, unowned, managers("kubectl-create")), true, false,
		},
		{
			"with recreate, an adoption in place takes over the fields of kubectl that the manifest sets",
			edits(recreating, unrecorded, unowned, managers("kubectl-create")), true, false,
		},
		{"fields without a manager are ignored", edits(merging, newManifest, managers("before-first-apply")), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(c.scene)
			facts := s.facts()
			facts.PreviousManagers = append([]string{"argocd-controller"}, PreviousManagers...)
			a := decide(applyRules, newCandidate(facts, &s.object)).action
			if a == nil || a.Verb != VerbApply || a.Migrate != c.migrate || a.TakeAllFields != c.takeOver {
				t.Errorf("the rules decide on the wrong action %+v", a)
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
				t.Errorf("the transfers of fields under ssa-merge and ssa-override are %s and %s", m, o)
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
		{
			"not to set the policy recreate if the object has this policy",
			edits(recreating, drifted), "keep its value, or delete the object first",
		},
		{"not to recreate a PersistentVolumeClaim", edits(newManifest, claim), "keep its value, or delete the object first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := decide(applyRules, newScene(c.scene).candidate()).action; a == nil || a.Advice != c.want {
				t.Errorf("the action has the wrong advice: %+v", a)
			}
		})
	}
}
