package plan

import (
	"fmt"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRecordedDeletePolicy(t *testing.T) {
	deployment, claim := manifests.Key{Group: "apps", Kind: "Deployment"}, manifests.Key{Kind: "PersistentVolumeClaim"}
	for _, c := range []struct {
		name          string
		key           manifests.Key
		own, fallback metav1alpha1.DeletePolicy
		want          metav1alpha1.DeletePolicy
	}{
		{
			"the policy delete is recorded as an empty field, which keeps the inventory small",
			deployment, "delete", "orphan", "",
		},
		{"the default policy applies if the manifest sets no policy", deployment, "", "orphan-on-apply", "orphan-on-apply"},
		{"the policy of the manifest has precedence over the default", deployment, "orphan", "delete", "orphan"},
		{"the default policy delete is recorded as an empty field", deployment, "", "delete", ""},
		{"a PersistentVolumeClaim is kept, whatever the default policy is", claim, "", "delete", "orphan"},
		{
			"a PersistentVolumeClaim is kept if its manifest sets another policy than delete",
			claim, "orphan-on-apply", "delete", "orphan",
		},
		{"a PersistentVolumeClaim is deleted if its manifest sets the policy delete", claim, "delete", "orphan", "delete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := RecordedDeletePolicy(c.key, c.own, c.fallback); got != c.want {
				t.Errorf("the recorded delete policy is %q, want %q", got, c.want)
			}
		})
	}
}

// A changed delete policy is recorded in every state of the object, because the record needs no write of the object.
func TestDeletePolicyIsRecorded(t *testing.T) {
	orphan := func(s *scene) { s.defaults.Delete = metav1alpha1.DeleteOrphan }
	for _, c := range []struct {
		name  string
		scene []func(*scene)
	}{
		{"of an object in sync", edits(orphan)},
		{"of an object that is not ready", edits(orphan, readiness(ready.InProgress, ""))},
		{"of an object that is to be written", edits(orphan, newManifest)},
		{"of an object that is new", edits(orphan, unrecorded, absent)},
		{"of an object that failed", edits(orphan, failed(Terminal, "Invalid"))},
		{"of an object that is applied once", edits(orphan, once)},
		{"of an object whose state is unknown", edits(orphan, unknown)},
		{"of an object that drifted", edits(orphan, drifted)},
		{
			"of an object that is read to verify its state",
			edits(orphan, neverWritten, answered(VerbRead), coverage(CoverageFull)),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(c.scene)
			if got := ForApply(s.facts()).Inventory[s.object.Key].DeletePolicy; got != metav1alpha1.DeleteOrphan {
				t.Errorf("the plan recorded the delete policy %q, want orphan", got)
			}
		})
	}
}

func TestDefinitionsThatAreReleasedBlockNothing(t *testing.T) {
	definition, controller := desiredObject(0, manifests.StageDefinitions, "definition"), desiredObject(0,
		manifests.StageWorkloads, "controller")
	instance := desiredObject(0, manifests.StageInstances, "instance")
	definition.Settings.DeletePolicy = metav1alpha1.DeleteOrphan
	x := &component{
		world: newWorld(), deleting: true, foreign: map[manifests.ManagedType]ForeignInstances{widgets: {Count: 1}},
	}
	for _, o := range []manifests.Object{definition, controller, instance} {
		x.applied(o)
	}
	var steps []string
	p := x.pass(func(_ Facts, p Plan) {
		for _, a := range p.Actions {
			steps = append(steps, string(a.Verb)+" "+a.Key.Name)
		}
	})
	want := "[Delete instance Delete controller Orphan definition]"
	if got := fmt.Sprint(steps); got != want || !p.Done() {
		t.Errorf("the steps are  %s\nwant %s, blocked by %v", got, want, p.Blocked)
	}
}

func TestNamespacesOfKubernetesAreOrphaned(t *testing.T) {
	for name, want := range map[string]bool{"default": true, "kube-system": true, "kube-public": true, "shop": false} {
		e := metav1alpha1.InventoryEntry{
			Version: "v1", Kind: "Namespace", Name: name,
			DeletePolicy: metav1alpha1.DeleteDelete,
		}
		for _, reason := range []Reason{ReasonPruned, ReasonDeleted, ReasonPurged} {
			if got := Orphans(e, reason); got != want {
				t.Errorf("because %s, the namespace %s is orphaned: %t", reason, name, got)
			}
		}
	}
	config := metav1alpha1.InventoryEntry{Version: "v1", Kind: "ConfigMap", Namespace: "default", Name: "default"}
	if Orphans(config, ReasonPruned) {
		t.Error("a ConfigMap with the name of a namespace is orphaned")
	}
}
