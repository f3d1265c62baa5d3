package plan

import (
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// flowRows has rows for objects that are only observed, that export values, and that bind values.
var flowRows = []row{
	{
		"reads an observed object that changed", edits(observing, unwatched),
		"Read: the component only observes it [repair]",
	},
	{"waits for an observed object whose state is not known", edits(observing, unknown), "waits, ListFailed: no answer"},
	{
		"fails if the API server refuses the credentials for an observed object", edits(observing, unauthorized),
		"fails (Terminal), Unauthorized: renew the credentials",
	},
	{
		"waits for an observed object that does not exist, and does not create it", edits(observing, confirmedAbsent),
		"waits, Absent: it does not exist; the component only observes it, and waits until somebody creates it",
	},
	{
		"waits for an observed object that is being deleted", edits(observing, ownedByOthers, terminating),
		"waits, Terminating: it is being deleted; the component only observes it, and waits for another one",
	},
	{
		"names the finalizers that hold an observed object",
		edits(observing, ownedByOthers, heldBy("kubernetes.io/pvc-protection")),
		"waits, Terminating: it is being deleted; the deletion ends when other controllers have removed their finalizers: " +
			"kubernetes.io/pvc-protection (a pod uses the claim); the component only observes it, and waits for another one",
	},
	{
		"waits for an observed object that is not ready", edits(observing, ownedByOthers, notReady),
		"waits, InProgress: starting [applied]",
	},
	{"neither adopts nor repairs an observed object", edits(observing, unowned, drifted), "done"},
	{"ignores the owner of an observed object", edits(observing, ownedByOthers), "done"},
	{
		"releases an observed object that was applied before", edits(observing, recorded),
		"Orphan: the component only observes it (uid u1, version 7) [repair]",
	},
	{
		"releases an object without its label, if it has the recorded UID and our fields",
		edits(observing, recorded, unlabelled),
		"Orphan: the component only observes it (uid u1, version 7) [repair]",
	},

	{
		"does not create an object with a missing value", edits(unrecorded, confirmedAbsent, unbound),
		"waits, ExportMissing: it waits for x",
	},
	{
		"does not update an object with a missing value", edits(bound, otherValue, unbound),
		"waits, ExportMissing: it waits for x; the applied values stay [applied]",
	},
	{
		"does not repair an object with a missing value", edits(bound, unbound, drifted),
		"waits, ExportMissing: it waits for x; the applied values stay [applied]",
	},
	{
		"does not update an object of a new manifest with a missing value", edits(bound, unbound, newManifest),
		"waits, ExportMissing: it waits for x",
	},
	{
		"fails if a hole cannot be filled", edits(bound, func(s *scene) {
			s.unbound = &Unbound{
				Message: "wrong type",
				Failed:  true,
			}
		}),
		"fails (Terminal), BindingFailed: wrong type",
	},
	{
		"updates an object of the same revision whose value changed", edits(bound, otherValue, sameRevision),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"keeps an object of the same revision that was rendered differently", edits(bound, otherTemplate, sameRevision),
		"done",
	},
	{
		"does not run a Job again because a value changed", edits(bound, otherValue, sameRevision, aJob), "done",
	},

	{
		"reads an object whose exports no watch shows", edits(exporting),
		"Read: it exports values that no watch shows (uid u1, version 7) [repair]",
	},
	{
		"reads an object with the policy once whose exports no watch shows", edits(exporting, once, settled),
		"Read: it exports values that no watch shows (uid u1, version 7) [repair]",
	},
	{
		"reads an object with a status whose exports the watch did not evaluate",
		edits(exporting, aDeployment, unreadExports),
		"Read: it exports values that no watch shows (uid u1, version 7) [repair]",
	},
	{
		"reads an object whose exports the watch did not evaluate once in a pass",
		edits(exporting, aDeployment, unreadExports, answered(VerbRead)), "done",
	},
	{"does not read an object with a status that has no exports yet", edits(exporting, aDeployment), "done"},
	{"reads an object with exports once in a pass", edits(exporting, answered(VerbRead)), "done"},
	{"does not read an object whose exports are known", edits(exporting, knownExports(nil)), "done"},
	{
		"is done although an export has no value yet",
		edits(exporting, knownExports(map[string]ExportFailure{"x": {Message: "later", Missing: true}})),
		"done",
	},
	{
		"fails if the expression of an export fails",
		edits(exporting, knownExports(map[string]ExportFailure{"x": {Message: "no such overload"}})),
		"fails (Terminal), ExportFailed: export x: no such overload [applied]",
	},
	{
		"waits until an object is ready before its exports count", edits(exporting, notReady,
			knownExports(map[string]ExportFailure{"x": {Message: "no such overload"}})),
		"waits, InProgress: starting [applied]",
	},
}

// observing makes the object an object that is only observed.
func observing(s *scene) {
	s.object.Settings.ReconcilePolicy, s.entry = metav1alpha1.ReconcileObserve, nil
}

// recorded enters the object into the inventory as a dependent that was applied before.
func recorded(s *scene) { s.entry = newScene(nil).entry }

func unlabelled(s *scene) { s.live.Owner, s.live.OwnerName = "", "" }

func notReady(s *scene) {
	s.live.Readiness = ready.Result{State: ready.InProgress, Message: "starting"}
}

// bound makes the object an object with filled holes.
func bound(s *scene) {
	s.object.Settings.Rare, s.object.Digest = &manifests.RareSettings{Bind: true}, "v1.s.t1"
	s.entry.Digest, s.live.Digest = "v1.s.t1", "v1.s.t1"
}

func otherValue(s *scene) { s.object.Digest = "v2.s.t1" }

func otherTemplate(s *scene) { s.object.Digest = "v2.s.t2" }

// unbound makes the holes of the object empty.
func unbound(s *scene) {
	s.unbound, s.object.Digest = &Unbound{Message: "it waits for x"}, digests.Template(s.object.Digest)
}

func sameRevision(s *scene) { s.sameInputs = true }

func aJob(s *scene) {
	s.object.Key = manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "web"}
	s.entry.Group, s.entry.Kind = "batch", "Job"
}

// exporting makes the object a Secret that exports a value.
func exporting(s *scene) {
	s.object.Key = manifests.Key{Kind: "Secret", Namespace: "shop", Name: "web"}
	s.object.Settings.Rare = &manifests.RareSettings{Exports: []manifests.Export{{Name: "x", Expression: "self.data.x"}}}
}

func settled(*scene) {}

// aDeployment makes the object one of a type with a status.
func aDeployment(s *scene) {
	s.object.Key = manifests.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	s.entry.Group, s.entry.Kind = "apps", "Deployment"
}

func unreadExports(s *scene) { s.live.Exports = UnreadExports() }

// knownExports sets the exports of the live object.
func knownExports(failures map[string]ExportFailure) func(*scene) {
	return func(s *scene) {
		values := map[string]any{}
		if len(failures) == 0 {
			values["x"] = "secret"
		}
		s.live.Exports = NewExports(values, failures)
	}
}

func TestExportsShowNoValues(t *testing.T) {
	e := NewExports(map[string]any{"x": "hunter2"}, nil)
	for _, text := range []string{e.String(), e.GoString()} {
		if text != "exports" {
			t.Errorf("the text is %q", text)
		}
	}
	if value, _, ok := e.Value("x"); !ok || value != "hunter2" {
		t.Errorf("got %v, %t", value, ok)
	}
	var none *Exports
	if _, failure, ok := none.Value("x"); ok || !failure.Missing {
		t.Errorf("got %v, %t", failure, ok)
	}
}

// A later wave waits for an object with a missing value. A later stage of its wave does not, because it may export the
// value.
func TestObjectsWithMissingValuesHoldUpLaterWaves(t *testing.T) {
	web := desiredObject(0, manifests.StageConfiguration, "web")
	f := Facts{
		Owner: us, Defaults: Policies{Update: metav1alpha1.UpdateSSAMerge}, Inventory: Inventory{}, Revision: 1,
		Desired: []manifests.Object{
			web, desiredObject(0, manifests.StageWorkloads, "db"), desiredObject(1, manifests.StageConfiguration, "later"),
		},
		Unbound: map[manifests.Key]Unbound{web.Key: {Message: "it waits for x"}},
	}.seen(func(manifests.Key) Observed { return Observed{Presence: Absent, Confirmed: true} })
	p := ForApply(f)
	if len(p.Actions) != 1 || p.Actions[0].Key.Name != "db" || p.Applied {
		t.Errorf("got the actions %v, applied %t", p.Actions, p.Applied)
	}
}

// Objects that are only observed are never recorded, and never removed.
func TestObservedObjectsAreNotRecorded(t *testing.T) {
	o := desiredObject(0, manifests.StageWorkloads, "db")
	o.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
	live := Observed{Presence: Present, UID: "u", Owner: them, Readiness: ready.Result{State: ready.Ready}}
	f := Facts{
		Owner: us, Inventory: Inventory{o.Key: {
			Version: "v1", Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
			UID: "old",
		}},
		Desired: []manifests.Object{o},
	}.seen(func(manifests.Key) Observed { return live })
	p := ForApply(f)
	if len(p.Actions)+len(p.Waiting)+len(p.Inventory) != 0 || p.Ready != 1 || p.Desired != 1 || len(p.Observed) != 1 ||
		p.WriteInventory {
		t.Errorf("got %+v", p)
	}
}
