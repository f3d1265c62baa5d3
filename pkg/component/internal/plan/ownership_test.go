package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestManagedFieldsArePutInOrder(t *testing.T) {
	managers := func(names ...string) func(*scene) {
		return func(s *scene) { s.live.Managers = names }
	}
	merging := func(s *scene) { s.defaults.Update = metav1alpha1.UpdateSSAMerge }
	restored := func(s *scene) { s.live.Applied = "" }
	updated := func(s *scene) { s.live.Updated = "f3" }
	withAccount := func(s *scene) { s.live.Retained = []string{"spec.template.spec.serviceAccountName"} }
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
		{
			"fields of an object that kubectl restored are not taken over, but no manager has them any more",
			edits(newManifest, restored, managers("kubectl-create")), true, false,
		},
		{
			"a copy of one of our fields that the manifest drops is taken over",
			edits(newManifest, withAccount, body("{spec: {}}")), true, false,
		},
		{
			"one of our fields with a copy costs no read while the manifest sets it",
			edits(newManifest, withAccount, body("{spec: {template: {spec: {serviceAccountName: a}}}}")), false, false,
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
	keep := Action{PreviousManagers: PreviousManagers, KeepFields: true}
	for _, c := range []struct {
		manager               string
		merge, override, keep FieldTransfer
	}{
		{"kubectl-client-side-apply", TransferShared, TransferAll, TransferToNobody},
		{"helm", TransferShared, TransferAll, TransferToNobody},
		{"somebody", TransferNone, TransferNone, TransferNone},
		{"kubectl-rollout", TransferNone, TransferNone, TransferNone},
		{"kubectl-label", TransferNone, TransferNone, TransferNone},
		{"kube-controller-manager", TransferNone, TransferNone, TransferNone},
		{"before-first-apply", TransferToNobody, TransferToNobody, TransferToNobody},
	} {
		t.Run(c.manager, func(t *testing.T) {
			m, o, k := merge.TransferOf(c.manager), override.TransferOf(c.manager), keep.TransferOf(c.manager)
			if m != c.merge || o != c.override || k != c.keep {
				t.Errorf("the transfers of fields under ssa-merge, under ssa-override and of a restored object are %s, %s and %s",
					m, o, k)
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
		{
			"to recreate, with what that loses",
			edits(newManifest),
			"keep its value; the annotation fairlead.io/update-policy: recreate on the manifest of this object deletes it and " +
				"creates it again with the new value, but " + podsStop,
		},
		{
			"not to set the policy recreate if the object has this policy",
			edits(recreating, drifted), "keep its value; if it is deleted, " + podsStop,
		},
		{
			"not to recreate a PersistentVolumeClaim", edits(newManifest, claim),
			"keep its value, or render another claim beside it and copy the data; if this claim is deleted, its data is lost, " +
				"unless its volume has the reclaim policy Retain",
		},
		{
			"to rename a Job that a Helm release left over", edits(unrecorded, unowned, job, markedByHelm, adopting(),
				adoptingUnowned),
			"Job.batch shop/web exists already, from the Helm release shop/web, with another template; render it with " +
				"another name; or, " +
				"if its work is done, delete it, so that it is created and runs; its logs are lost, and its work may be " +
				"done again: " +
				"kubectl delete -n shop job.batch web",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := decide(applyRules, newScene(c.scene).candidate()).action; a == nil || a.Advice != c.want {
				t.Errorf("the action has the wrong advice: %+v", a)
			}
		})
	}
}

func TestAnAdoptionSaysThatAJobIsComplete(t *testing.T) {
	pod := func(restart string) func(*scene) {
		return func(s *scene) {
			s.object.Key = manifests.Key{Kind: "Pod", Namespace: "shop", Name: "web"}
			s.object.Body = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "web"},
				"spec": map[string]any{"restartPolicy": restart},
			}}
		}
	}
	for _, c := range []struct {
		name  string
		scene []func(*scene)
		want  string
	}{
		{"that somebody ran", edits(unrecorded, unowned, job), isComplete},
		{
			"that a Helm release left over", edits(unrecorded, unowned, job, markedByHelm, adopting(), adoptingUnowned),
			isComplete,
		},
		{"unless it still runs", edits(unrecorded, unowned, job, readiness(ready.InProgress, "it runs")), ""},
		{"unless it failed", edits(unrecorded, unowned, job, readiness(ready.Failed, "it failed")), ""},
		{"or a Pod that is not restarted", edits(unrecorded, unowned, pod("Never")), isComplete},
		{"unless the Pod is restarted", edits(unrecorded, unowned, pod("Always")), ""},
		{"unless the object does no work", edits(unrecorded, unowned), ""},
		{"unless it is a repair of a Job of its own", edits(job, drifted), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := decide(applyRules, newScene(c.scene).candidate()).action
			if a == nil || a.Note != c.want {
				t.Errorf("got the action %+v, want the note %q", a, c.want)
			}
		})
	}
}

func TestLossOf(t *testing.T) {
	for _, c := range []struct {
		name string
		key  manifests.Key
		want string
	}{
		{
			"a definition",
			manifests.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
			"all its custom resources, of every owner",
		},
		{"a claim", manifests.Key{Kind: "PersistentVolumeClaim"}, "its data is lost"},
		{"a volume", manifests.Key{Kind: "PersistentVolume"}, "loses its data"},
		{"a namespace", manifests.Key{Kind: "Namespace"}, "all objects in it"},
		{"a StatefulSet", manifests.Key{Group: "apps", Kind: "StatefulSet"}, "its claims are deleted if it says so"},
		{"a Secret", manifests.Key{Kind: "Secret"}, "values that only the cluster has are lost"},
		{"a custom resource", manifests.Key{Group: "db.example.com", Kind: "Database"}, "with its data"},
		{
			"an external",
			manifests.Key{Group: manifests.ExternalGroup, Kind: "Schema"},
			"also lost outside Kubernetes, with its data",
		},
		{
			"another object of Kubernetes",
			manifests.Key{Group: "policy", Kind: "PodDisruptionBudget"},
			"what only the cluster has of it is lost",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := LossOf(c.key); !strings.Contains(got, c.want) {
				t.Errorf("the loss is %q", got)
			}
		})
	}
}

func TestCommandFor(t *testing.T) {
	component := manifests.Key{Group: "fairlead.io", Kind: "Component", Namespace: "a", Name: "shop"}
	for want, got := range map[string]string{
		" delete -n a shop": CommandFor("delete", component),
		" delete shops.example.com/web": CommandFor("delete", manifests.Key{
			Group: "example.com", Kind: "Shops",
			Name: "web",
		}),
	} {
		if got != want {
			t.Errorf("the command is %q, want %q", got, want)
		}
	}
	if got, want := AcceptUnknown("demo.io", component),
		"fairlead delete -n a shop --accept-unknown demo.io"; !strings.HasSuffix(got, want) {
		t.Errorf("the advice is %q, want it to end with %q", got, want)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct{ name, message, want string }{
		{"keeps a short message", "it failed; try again", "it failed; try again"},
		{
			"leaves out a remedy that would be cut before its loss",
			"it is owned by Component b/them; to move it here, set its adoption policy to always here before it is removed " +
				"there, which deletes it",
			"it is owned by Component b/them …",
		},
		{
			"leaves out the remedy in parentheses that would be cut before its loss",
			"field is immutable (the field cannot change: keep its value; the annotation update-policy: recreate deletes it, " +
				"but its pods stop)",
			"field is immutable (the field cannot change: keep its value) …",
		},
		{
			"leaves out a command that would be cut before its last argument",
			"the component owned it in another cluster; rename it here, or add it to spec.adopt (fairlead apply " +
				"--adopt-cluster 6f0b6f3c-0000-4000-8000)",
			"the component owned it in another cluster …",
		},
		{
			"cuts no name in the middle", strings.Repeat("a", 50) + " is owned by " + strings.Repeat("b", 50) + "; try again",
			strings.Repeat("a", 50) + " is owned by …",
		},
		{"cuts a long cause", strings.Repeat("ä", 60) + "; try again", strings.Repeat("ä", 48) + " …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Shorten(c.message, 100); got != c.want {
				t.Errorf("the text is %q", got)
			}
		})
	}
}

func TestTailBeginsWithAWord(t *testing.T) {
	for text, want := range map[string]string{
		"short":                   "short",
		"one two three four":      "three four",
		"aaaaaaaaaaaa bbbb":       "bbbb",
		strings.Repeat("ä", 20):   strings.Repeat("ä", 5),
		"one two " + "three-four": "three-four",
	} {
		if got := Tail(text, 10); got != want {
			t.Errorf("the tail of %q is %q, want %q", text, got, want)
		}
	}
}

func TestTheGarbageCollectionIsNamedIfTheManifestHasOwnerReferences(t *testing.T) {
	body := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"ownerReferences": []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": "u1"},
	}}}}
	r := Repairs{Losses: []Loss{lostObject}}
	got := describeRepairs(candidate{object: &manifests.Object{Body: body}}, r)
	const want = "it is deleted repeatedly, probably by the garbage collection of Kubernetes, because its owners " +
		"do not exist: " +
		"metadata.ownerReferences of its manifest names ConfigMap parent (UID u1); remove the owner references from the " +
		"manifest, or stop the client that deletes the object; until then it is repaired less and less often"
	if got != want {
		t.Errorf("the message is %q", got)
	}
	body.Object["metadata"] = map[string]any{}
	if got := describeRepairs(candidate{object: &manifests.Object{Body: body}}, r); !strings.HasPrefix(got,
		"an unknown client deletes it") {
		t.Errorf("the message is %q", got)
	}
}
