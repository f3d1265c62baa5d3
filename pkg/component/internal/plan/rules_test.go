package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// row is a scene with the expected decision about its object.
type row struct {
	name  string
	scene []func(*scene)
	want  string
}

// inDeletionOnly is the advice for an object of others in a deletion phase.
const inDeletionOnly = "; move the other object to another name or namespace, and the deletion continues; the entry " +
	"{group: apps, kind: Deployment, namespace: shop, name: web} in spec.adopt lets the component take it over, and " +
	"delete it with its contents in the end (" + podsStop + ")"

// applyRows has at least one row for each of the applyRules.
var applyRows = slices.Concat(flowRows, []row{
	// An object of another owner is taken over if the adoption policy is always.
	{
		"takes over an object of another owner with the adoption policy always", edits(always, unrecorded, ownedByOthers),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over an object by a regular update with the update policy replace",
		edits(always, replacing, neverWritten, ownedByOthers),
		"Replace: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over an object in place, also with the update policy recreate",
		edits(always, recreating, unrecorded, ownedByOthers),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over an object if the default adoption policy is always",
		edits(unrecorded, ownedByOthers, func(s *scene) { s.defaults.Adoption = metav1alpha1.AdoptAlways }),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes back an object from another owner when its manifest changes", edits(always, ownedByOthers, newManifest),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"does not take back an object from another owner without a change, because both owners could take it again and again",
		edits(always, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; leave it out here, which does not " +
			"delete it; to take it back, change " +
			"its manifest here before it is removed there, which deletes it (" + podsStop + "); " + overwrites,
	},
	{
		"does not take back an object from another owner after a new rendering of the same manifest",
		edits(always, ownedByOthers, renderedAgain),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; leave it out here, which does not " +
			"delete it; to take it back, change " +
			"its manifest here before it is removed there, which deletes it (" + podsStop + "); " + overwrites,
	},
	{
		"does not take back an object that the new owner recreated", edits(always, ownedByOthers, recreatedByOthers),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; leave it out here, which does not " +
			"delete it; to take it back, change " +
			"its manifest here before it is removed there, which deletes it (" + podsStop + "); " + overwrites,
	},
	{
		"waits for the deletion of an object by another client, also with the adoption policy always",
		edits(always, unrecorded, ownedByOthers, terminating),
		"fails (Transient), Terminating: it is being deleted; it is created again afterwards",
	},

	// A manifest that the API server would refuse is not sent.
	{
		"fails without a write if the API server would refuse the manifest",
		edits(newManifest, func(s *scene) { s.refused = &Failure{Class: Terminal, Reason: WaitInvalid, Message: "bad"} }),
		"fails (Terminal), Invalid: bad",
	},

	// A missing namespace is created if the policy permits that.
	{
		"creates a missing namespace after the API server refused to create an object in it", edits(homeless),
		"CreateNamespace: dependents need it, and it does not exist",
	},
	{
		"creates the missing namespace of an object that was applied before at once",
		edits(homeless, func(s *scene) { s.entry.Digest = "d1" }),
		"CreateNamespace: dependents need it, and it does not exist [repair]",
	},
	{"creates the object when its namespace exists", edits(homeless, namespaceCreated(nil)), "Create: it is new"},
	{
		"fails after five attempts if another client deletes the namespace each time",
		edits(homeless, namespaceCreated(nil), attempts(5)),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},
	{
		"reports the reason for which the namespace could not be created",
		edits(homeless, namespaceCreated(&Failure{Class: Terminal, Reason: "Forbidden", Message: "no rights"})),
		"fails (Terminal), NamespaceMissing: namespace shop does not exist, and could not be created: no rights; create " +
			"it, or grant the right to create it",
	},
	{
		"does not create a missing namespace with the policy refuse",
		edits(homeless, func(s *scene) { s.defaults.MissingNamespaces = metav1alpha1.MissingNamespacesRefuse }),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},
	{
		"does not create a missing namespace that is a dependent before its wave",
		edits(homeless, func(s *scene) { s.home = true }),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},

	// An object of a phase is skipped if its namespace is being deleted.
	{
		"skips an object of a deletion phase in a namespace that is being deleted",
		edits(unrecorded, inPhase, failed(Transient, WaitNamespaceTerminating)),
		"done [record c=true ph=pre-delete]",
	},
	{"does not try again to create an object that was skipped", edits(inPhase, absent, passedOver), "done"},
	{
		"retries a dependent in a namespace that is being deleted",
		edits(absent, failed(Transient, WaitNamespaceTerminating)),
		"fails (Transient), NamespaceTerminating: the API server refused it",
	},

	// An object that failed in this pass is not tried again before the next pass.
	{
		"fails with the reason of the API server, without a second attempt in the same pass",
		edits(newManifest, failed(Terminal, "Invalid")),
		"fails (Terminal), Invalid: the API server refused it",
	},
	{
		"reports a transient failure as transient", edits(absent, failed(Transient, "InternalError")),
		"fails (Transient), InternalError: the API server refused it",
	},
	{
		"fails in this pass if another client changed the object five times", edits(drifted, attempts(5)),
		"fails (Transient), ChangedMeanwhile: it changed 5 times while it was being written",
	},
	{"makes a fifth attempt", edits(drifted, attempts(4)), "Apply: it drifted (uid u1, version 7) [repair]"},

	// An object waits if the API server does not serve its type.
	{
		"waits for a type that is not served, even if a watch shows that the object does not exist",
		edits(unrecorded, absent, func(s *scene) { s.object.Scope = manifests.ScopeUnknown }),
		"waits, KindNotServed: Deployment.apps is not served yet, although it is defined here",
	},

	// An object of a type that is not watched is read.
	{
		"reads an object of an unwatched type before it creates the object",
		edits(unrecorded, unwatched), "Read: its type cannot be watched",
	},
	{
		"reads an object of an unwatched type before it updates the object", edits(newManifest, unwatched),
		"Read: its type cannot be watched",
	},
	{
		"reads an object of an unwatched type in each pass, in any wave",
		edits(unwatched), "Read: its type cannot be watched [repair]",
	},
	{
		"does not repeat a failed read in the same pass", edits(unwatched, failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},

	// An object in an unknown state waits.
	{"does not create an object while its state is unknown", edits(unrecorded, unknown), "waits, ListFailed: no answer"},
	{"does not update an object while its state is unknown", edits(newManifest, unknown), "waits, ListFailed: no answer"},
	{
		"fails without a wait if the API server refuses the credentials", edits(unauthorized),
		"fails (Terminal), Unauthorized: renew the credentials",
	},
	{
		"treats an empty presence as unknown", edits(newManifest, func(s *scene) { s.live = Observed{Reason: "Observing"} }),
		"waits, Observing: ",
	},

	// An object with the reconcile policy create-only is not changed while it exists.
	{"creates a new dependent with the policy create-only", edits(createOnly, unrecorded, absent), "Create: it is new"},
	{
		"creates a dependent with the policy create-only again after somebody deleted it", edits(createOnly, absent),
		"Create: somebody deleted it [repair]",
	},
	{"does not repair a dependent with the policy create-only", edits(createOnly, drifted), "done"},
	{"does not update a dependent with the policy create-only", edits(createOnly, newManifest), "done"},
	{"does not label a dependent with the policy create-only again", edits(createOnly, unowned), "done"},
	{
		"applies a dependent with the policy create-only neither at its reapply interval nor after a change of the component",
		edits(following, componentChanged, reapplied(60), createOnly), "done",
	},
	{
		"waits until a dependent with the policy create-only is ready",
		edits(createOnly, readiness(ready.InProgress, "it runs")), "waits, InProgress: it runs [applied]",
	},
	{
		"records a dependent with the policy create-only after a crash prevented its record",
		edits(createOnly, neverWritten, newManifest), "done [record u=u1 d=d1]",
	},
	{
		"adopts an object with the policy create-only by one write", edits(createOnly, unrecorded, unowned),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},

	// The component waits for an absent object with the reconcile policy update-only.
	{
		"reads an absent object with the policy update-only, because the watches do not show objects of others",
		edits(updateOnly, unrecorded, absent), "Read: its absence must be confirmed",
	},
	{
		"waits for an absent object with the policy update-only", edits(updateOnly, confirmedAbsent),
		"waits, Absent: it does not exist, and its reconcile policy update-only does not create it",
	},
	{
		"adopts an object with the policy update-only", edits(updateOnly, unrecorded, unowned),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"repairs a dependent with the policy update-only", edits(updateOnly, drifted),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"does not recreate a dependent with the policy update-only", edits(updateOnly, recreating, newManifest),
		"Apply: its manifest changed (uid u1, version 7)",
	},

	// An object with the reconcile policy always is applied in each pass.
	{
		"applies a dependent with the policy always", edits(inEachPass),
		"Apply: its reconcile policy is always (uid u1, version 7)",
	},
	{"applies a dependent with the policy always once in a pass", edits(inEachPass, answered(VerbApply)), "done"},
	{
		"applies a dependent with the policy always after a read", edits(inEachPass, answered(VerbRead), attempts(1)),
		"Apply: its reconcile policy is always (uid u1, version 7)",
	},
	{
		"does not apply a dependent with the policy always if its manifest differs in each rendering",
		edits(inEachPass, renderedAgain), "done",
	},

	// An object with the reconcile policy once is not written again.
	{"creates a new dependent with the policy once", edits(once, unrecorded, absent), "Create: it is new"},
	{"does not repair a dependent with the policy once", edits(once, drifted), "done"},
	{"does not update a dependent with the policy once", edits(once, newManifest), "done"},
	{"does not recreate a dependent with the policy once", edits(once, absent), "done"},
	{
		"does not change an object that another client created in place of a dependent with the policy once",
		edits(once, recreatedByOthers), "done",
	},
	{
		"does not wait for the deletion of a dependent with the policy once",
		edits(once, terminating), "done",
	},
	{"does not update a dependent if the default reconcile policy is once", edits(onceByDefault, newManifest), "done"},
	{
		"uses the reconcile policy of the object instead of the default", edits(onceByDefault, following, newManifest),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{"does not write a changed setting if the new reconcile policy is once", edits(once, newSettings), "done"},
	{
		"applies a dependent with the policy once neither at its reapply interval nor after a change of the component",
		edits(following, componentChanged, reapplied(60), once),
		"done",
	},
	{
		"treats a dependent with the policy once and the owner label as applied, also if a crash prevented its record",
		edits(once, neverWritten, newManifest),
		"done [record u=u1 d=d1]",
	},
	{
		"waits until a dependent with the policy once is ready", edits(once, readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},

	// An object that was purged is complete.
	{"does not recreate a purged object", edits(purged), "done"},
	{
		"does not change an object that is being purged",
		edits(purging, completedEntry, drifted, readiness(ready.Failed, "it failed")),
		"done",
	},
	{"does not read a purged object", edits(purged, unknown), "done"},
	{"does not recreate a purged object when its settings change", edits(purged, newSettings), "done"},
	{"does not recreate a purged object after a new rendering of the same manifest", edits(purged, renderedAgain), "done"},
	{"does not recreate a purged object when a looked-up object changes", edits(purged, lookedUpAgain), "done"},
	{
		"recreates a purged object when its manifest changes", edits(purged, newManifest),
		"Create: its manifest changed",
	},
	{"does not recreate a purged object when the component changes", edits(purged, componentChanged), "done"},
	{
		"recreates a purged object with the policy on-object-or-component-change when the component changes",
		edits(purged, following, componentChanged),
		"Create: the component changed",
	},
	{
		"does not recreate a purged object with the policy once",
		edits(purged, following, componentChanged, newManifest, once),
		"done",
	},
	{
		"creates a purged object when its purge order is removed",
		edits(purged, newSettings, func(s *scene) { s.object.Settings.PurgeOrder = nil }),
		"Create: its manifest changed",
	},
	{
		"does not create a purged object with the policy once when its purge order is removed",
		edits(purged, once, func(s *scene) { s.object.Settings.PurgeOrder = nil }),
		"done",
	},
	{
		"updates an object whose manifest changed while it was being purged", edits(purging, completedEntry, newManifest),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"does not purge a definition",
		edits(purging, completedEntry, drifted, func(s *scene) { s.object.Types = make([]manifests.ManagedType, 1) }),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},

	// An object that completed its work and was removed after that is complete.
	{
		"does not recreate a finished Job that was removed", edits(job, finishedAndAbsent),
		"done [record u=u1 d=d1 c=true]",
	},
	{"does not recreate a Job that is recorded as completed", edits(job, completedEntry, absent), "done"},
	{"does not wait for the deletion of a completed Job", edits(job, completedEntry, terminating), "done"},
	{
		"does not recreate a completed Job after a new rendering of the same manifest",
		edits(job, completedEntry, absent, renderedAgain),
		"done",
	},
	{
		"does not recreate a completed Job when a looked-up object changes",
		edits(job, completedEntry, absent, lookedUpAgain),
		"done",
	},
	{
		"does not change a finished Job when a looked-up object changes its manifest", edits(job, lookedUpAgain),
		"done [record u=u1 d=d1 f=f1 r=1 c=true]",
	},
	{
		"recreates a completed Job when its manifest changes", edits(job, completedEntry, absent, newManifest),
		"Create: its manifest changed",
	},
	{
		"does not recreate a completed Job when its settings change",
		edits(job, completedEntry, absent, newSettings), "done",
	},
	{
		"recreates a completed Job with the policy on-object-or-component-change when the component changes",
		edits(job, following, completedEntry, absent, componentChanged),
		"Create: the component changed",
	},
	{"recreates a Job that was removed before it finished", edits(job, absent), "Create: somebody deleted it [repair]"},
	{
		"does not treat a Job as finished if a Job with another manifest finished",
		edits(job, newManifest, finishedAndAbsent),
		"Create: its manifest changed (uid u1, version )",
	},
	{
		"recreates an object that is not a Job, even if it is reported as finished", edits(finishedAndAbsent),
		"Create: somebody deleted it (uid u1, version ) [repair]",
	},

	// An absent object is not created while it is not decided whether it is applied.
	{
		"does not create a dependent again while the condition of an object that it depends on has no value",
		edits(absent, func(s *scene) {
			s.object.Undecided = &manifests.Key{
				Kind: "ConfigMap", Namespace: "shop",
				Name: "a",
			}
		}),
		"waits, ConditionUndecided: it is not created before it is decided whether ConfigMap shop/a is applied, which it " +
			"depends on",
	},

	// An absent object is created.
	{"creates a new object", edits(unrecorded, absent), "Create: it is new"},
	{"creates an object that was recorded and never written", edits(neverWritten, absent), "Create: it is new"},
	{"recreates an object that another client deleted at once", edits(absent), "Create: somebody deleted it [repair]"},
	{
		"recreates a deleted object with its new manifest, in its wave", edits(absent, newManifest),
		"Create: its manifest changed",
	},
	{
		"recreates a deleted object with another rendering of the same inputs", edits(absent, renderedAgain),
		"Create: somebody deleted it [repair]",
	},

	// The component waits for an object that is being deleted.
	{
		"waits until a deleted object no longer exists", edits(terminating),
		"waits, Terminating: it is being deleted; it is created again afterwards",
	},
	{
		"names the finalizers that hold a deleted object", edits(heldBy("backup.example.com/copy")),
		"waits, Terminating: it is being deleted; the deletion ends when other controllers have removed their finalizers: " +
			"backup.example.com/copy; it is created again afterwards",
	},
	{
		"does not update an object that is being deleted", edits(terminating, newManifest),
		"waits, Terminating: it is being deleted; it is created again afterwards",
	},
	{
		"retries while an object of another owner is being deleted, because no watch shows the end of the deletion",
		edits(terminating, ownedByOthers),
		"fails (Transient), Terminating: it is being deleted; it is created again afterwards",
	},

	// An object with another owner is a conflict.
	{
		"reports an ownership conflict for an object of another component", edits(unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},
	{
		"reports an ownership conflict for an absent object that its owner may create again",
		edits(unrecorded, absent, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it does not exist now, but Component b/them owns it and may create it again; " +
			"rename it here" + moves(podsStop),
	},
	{
		"creates an absent object that its owner may create again, with the adoption policy always",
		edits(always, unrecorded, absent, ownedByOthers), "Create: it is new",
	},
	{
		"names the other owner and its reconciler in an ownership conflict",
		edits(unrecorded, ownedBy("c/shop.example.com/fairlead.io/Component/b/them")),
		"fails (Terminal), OwnershipConflict: it is owned by Component.fairlead.io b/them (reconciler shop.example.com); " +
			"rename it here" + moves(podsStop),
	},
	{
		"says what is known of an owner whose annotation was removed", edits(unrecorded, ownedBy("")),
		"fails (Terminal), OwnershipConflict: it is owned by the component with the owner id them, whose name " +
			"is not known, " +
			"because the object has its label owner-id and not the annotation of the same name; rename it here; or, if no " +
			"component renders it any more, remove the label, and it is adopted; " + overwrites,
	},
	{
		"names the cluster if a component of the same name in another cluster owns the object",
		edits(unrecorded, ownedBy("c0ffee/us.example.com/example.com/Shop/a/us")),
		"fails (Terminal), OwnershipConflict: it is owned by Shop.example.com a/us (reconciler us.example.com) " +
			"in the cluster whose namespace kube-system has the UID c0ffee; rename it here" + moves(podsStop),
	},
	{
		"does not propose to rename a definition", edits(definition(Guard{}), unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; leave the definition out here, because only " +
			"one component can own it " +
			"(for a chart, skipCRDs leaves out the folder crds)" +
			moves("Kubernetes also deletes all its custom resources, of every owner"),
	},
	{
		"does not propose to rename a namespace", edits(namespace(Contents{}), unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; leave it out here" +
			moves("Kubernetes also deletes all objects in it"),
	},
	{
		"reports an ownership conflict for a dependent that another component took over", edits(ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},

	// Our object is labelled again if its label was removed.
	{
		"restores the owner label of an object with the recorded UID", edits(unowned),
		"Apply: somebody removed or replaced its owner label (uid u1, version 7) [repair]",
	},
	{
		"restores the owner label of an object with the recorded UID, also with the adoption policy never",
		edits(unowned, func(s *scene) { s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever }),
		"Apply: somebody removed or replaced its owner label (uid u1, version 7) [repair]",
	},

	// An object without an owner is adopted if the policy permits that.
	{
		"adopts an object without an owner, with the adoption policy always", edits(always, unrecorded, unowned),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts an object without an owner",
		edits(unrecorded, unowned), "Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts an object without an owner that replaced a dependent", edits(unowned, recreatedByOthers),
		"Apply: it exists and no component owns it (uid u2, version 7) [repair]",
	},
	{
		"adopts an object by a regular update with the update policy replace", edits(replacing, unrecorded, unowned),
		"Replace: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts an object in place, also with the update policy recreate", edits(recreating, unrecorded, unowned),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"does not adopt an object with the adoption policy never",
		edits(unrecorded, unowned, func(s *scene) { s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever }),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; rename it " +
			"here; to adopt " +
			"it, set the policy " +
			"if-unowned: " + overwrites + "; do not delete it for that (" + podsStop + ")",
	},
	{
		"does not adopt an object if the default adoption policy is never",
		edits(unrecorded, unowned, func(s *scene) { s.defaults.Adoption = metav1alpha1.AdoptNever }),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; rename it " +
			"here; to adopt " +
			"it, set the policy " +
			"if-unowned: " + overwrites + "; do not delete it for that (" + podsStop + ")",
	},

	// A deletion phase takes over an object of others only if the component lists it, or with the policy always.
	{
		"does not adopt an object of others in a deletion phase, also without a list",
		edits(listedBy("spec.adopt"), unrecorded, unowned, managedBy("kubectl-create"), inPhase),
		"fails (Terminal), OwnershipConflict: it exists already, and somebody else created it (managed by: field manager " +
			"kubectl-create)" + inDeletionOnly,
	},
	{
		"does not adopt an object of another tool in a deletion phase", edits(listedBy("spec.adopt"), unrecorded, unowned,
			markedByHelm, inPhase),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web" + inDeletionOnly,
	},
	{
		"does not adopt an object in a deletion phase that a list lacks", edits(listedBy("spec.adopt"), unrecorded, unowned,
			adopting(), inPhase),
		"fails (Terminal), OwnershipConflict: it exists already, and somebody else created it (managed by: nobody)" +
			inDeletionOnly,
	},
	{
		"does not say that an object is deleted whose delete policy keeps it",
		edits(listedBy("spec.adopt"), unrecorded, unowned,
			inPhase, func(s *scene) { s.object.Settings.DeletePolicy = metav1alpha1.DeleteOrphan }),
		"fails (Terminal), OwnershipConflict: it exists already, and somebody else created it (managed by: nobody); " +
			"move the other object to another name or namespace, and the deletion continues; the entry {group: apps, " +
			"kind: Deployment, namespace: shop, name: web} in spec.adopt lets the component take it over, and " +
			"replace its values",
	},
	{
		"does not adopt an object in a deletion phase with the adoption policy never",
		edits(unrecorded, unowned, inPhase, adopting(webRule), func(s *scene) {
			s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever
		}),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; move the " +
			"other object to " +
			"another name or namespace, and the deletion continues",
	},
	{
		"reads an object of a deletion phase that a watch shows", edits(unrecorded, unowned, unmarked, inPhase),
		"Read: it is not known whether it belongs to another tool (uid u1, version 7)",
	},
	{
		"does not adopt an object in a deletion phase that replaced the listed one",
		edits(listedBy("spec.adopt"), unrecorded, unowned, inPhase, adopting(confirmed("u0"))),
		"fails (Terminal), OwnershipConflict: it is another object than the one that was confirmed: spec.adopt " +
			"permits the object " +
			"with the UID u0, and it has the UID u1 (managed by: nobody)" +
			strings.Replace(inDeletionOnly, "name: web}", "name: web, uid: u1}", 1),
	},
	{
		"adopts a listed object in a deletion phase", edits(unrecorded, unowned, inPhase, adopting(webRule)),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7)",
	},
	{
		"adopts an object in a deletion phase with the adoption policy always", edits(always, unrecorded, unowned, inPhase),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts an object that replaced an object of a deletion phase", edits(unowned, recreatedByOthers, inPhase),
		"Apply: it exists and no component owns it (uid u2, version 7) [repair]",
	},
	{
		"restores the owner label of an object of a deletion phase", edits(unowned, inPhase),
		"Apply: somebody removed or replaced its owner label (uid u1, version 7) [repair]",
	},
	{
		"names no remedy in a deletion phase that only a rendering has", edits(unrecorded, ownedByOthers, inPhase),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; move the other object to another name or " +
			"namespace, and the deletion continues",
	},

	// The component may list the objects that it adopts.
	{
		"reads an object without an owner that a watch shows, because it may belong to another tool",
		edits(unrecorded, unowned, unmarked),
		"Read: it is not known whether it belongs to another tool (uid u1, version 7)",
	},
	{
		"reads an object without an owner also with the adoption policy always, so that the mark is removed",
		edits(always, unrecorded, unowned, unmarked),
		"Read: it is not known whether it belongs to another tool (uid u1, version 7)",
	},
	{
		"restores the owner label of an object with the recorded UID, whatever mark it has and whatever is listed",
		edits(unowned, markedByHelm, adopting()),
		"Apply: somebody removed or replaced its owner label (uid u1, version 7) [repair]",
	},
	{
		"does not adopt an object with the mark of another tool",
		edits(readyMade, unrecorded, unowned, markedByHelm),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; rename it here, or take " +
			"it over: add " +
			"{group: apps, kind: Deployment, namespace: shop, name: web} to spec.adopt (fairlead apply -n a us DIR --adopt); " +
			overwrites,
	},
	{
		"does not adopt an object with the mark of another tool that replaced a dependent",
		edits(readyMade, unowned, recreatedByOthers, markedByHelm),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; rename it here, or take " +
			"it over: add " +
			"{group: apps, kind: Deployment, namespace: shop, name: web} to spec.adopt (fairlead apply -n a us DIR --adopt); " +
			overwrites,
	},
	{
		"adopts an object with the mark of another tool if its adoption policy is always",
		edits(always, unrecorded, unowned, markedByHelm),
		"Apply: it exists and no component owns it (uid u1, version 7) from the Helm release shop/web",
	},
	{
		"adopts an object with the mark of another tool if the component lists it",
		edits(unrecorded, unowned, markedByHelm, adopting(webRule)),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7) from the Helm release shop/web",
	},
	{
		"adopts a listed object with the UID of the list",
		edits(unrecorded, unowned, adopting(confirmed("u0"), confirmed("u1"))),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7)",
	},
	{
		"does not adopt an object that replaced the listed one",
		edits(readyMade, unrecorded, unowned, managedBy("kubectl-create"), adopting(confirmed("u0"))),
		"fails (Terminal), OwnershipConflict: it is another object than the one that was confirmed: spec.adopt " +
			"permits the object " +
			"with the UID u0, and it has the UID u1 (managed by: field manager kubectl-create); rename it here, or " +
			"take it over: " +
			"add {group: apps, kind: Deployment, namespace: shop, name: web, uid: u1} to spec.adopt (fairlead apply -n a us " +
			"DIR --adopt); " +
			overwrites,
	},
	{
		"does not adopt an object with the mark of another tool that replaced the listed one",
		edits(readyMade, unrecorded, unowned, markedByHelm, adopting(confirmed("u0"))),
		"fails (Terminal), OwnershipConflict: it is another object than the one that was confirmed: spec.adopt " +
			"permits the object " +
			"with the UID u0, and it has the UID u1 (managed by: the Helm release shop/web); rename it here, or take it over: " +
			"add {group: apps, kind: Deployment, namespace: shop, name: web, uid: u1} to spec.adopt (fairlead apply -n a us " +
			"DIR --adopt); " +
			overwrites,
	},
	{
		"adopts an object that replaced a dependent, also if another one is listed",
		edits(unowned, recreatedByOthers, adopting(confirmed("u1"))),
		"Apply: it exists and no component owns it (uid u2, version 7) [repair]",
	},
	{
		"uses the namespace of the component for a listed object without a namespace",
		edits(unrecorded, unowned, adopting(metav1alpha1.AdoptRule{Group: "apps", Kind: "Deployment", Name: "web"})),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7)",
	},
	{
		"does not adopt an object that a list lacks",
		edits(readyMade, unrecorded, unowned, managedBy("kubectl-create"), adopting(
			metav1alpha1.AdoptRule{Group: "apps", Kind: "Deployment", Namespace: "other", Name: "web"},
		)),
		"fails (Terminal), OwnershipConflict: it exists already, and spec.adopt does not name it (managed by: " +
			"field manager " +
			"kubectl-create); rename it here, or take it over: add {group: apps, kind: Deployment, " +
			"namespace: shop, name: web} to spec.adopt (fairlead apply -n a us DIR --adopt); " + overwrites,
	},
	{
		"adopts nothing with an empty list", edits(readyMade, unrecorded, unowned, adopting()),
		"fails (Terminal), OwnershipConflict: it exists already, and spec.adopt does not name it (managed by: nobody); " +
			"rename it here, or take it over: add {group: apps, kind: Deployment, namespace: shop, name: web} to " +
			"spec.adopt (fairlead apply -n a us DIR --adopt); " + overwrites,
	},
	{
		"adopts an object that replaced a dependent, also with an empty list",
		edits(unowned, recreatedByOthers, adopting()),
		"Apply: it exists and no component owns it (uid u2, version 7) [repair]",
	},
	{
		"adopts what Kubernetes itself creates in each namespace, also with an empty list",
		edits(unrecorded, unowned, adopting(), func(s *scene) {
			s.object.Key = manifests.Key{Kind: "ServiceAccount", Namespace: "shop", Name: "default"}
		}),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts an object with the mark of another tool in a preview that permits all objects without an owner",
		edits(unrecorded, unowned, markedByHelm, adopting(), adoptingUnowned),
		"Apply: it exists and no component owns it (uid u1, version 7) from the Helm release shop/web",
	},
	{
		"takes nothing from another component in such a preview",
		edits(unrecorded, ownedByOthers, adopting(), adoptingUnowned),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},
	{
		"takes no listed object from another component", edits(unrecorded, ownedByOthers, adopting(webRule)),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},
	{
		"adopts no listed object with the adoption policy never",
		edits(unrecorded, unowned, adopting(webRule), func(s *scene) {
			s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever
		}),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; rename it " +
			"here; to adopt " +
			"it, set the policy " +
			"if-unowned: " + overwrites + "; do not delete it for that (" + podsStop + ")",
	},

	// An object that the component itself released needs no entry.
	{
		"adopts an object that the component released, also with an empty list",
		edits(unrecorded, unowned, releasedBy("us"), adopting()),
		"Apply: it exists, and the component released it before (uid u1, version 7)",
	},
	{
		"adopts an object that the component released, although a list confirms another one",
		edits(unrecorded, unowned, releasedBy("us"), adopting(confirmed("u0"))),
		"Apply: it exists, and the component released it before (uid u1, version 7)",
	},
	{
		"does not adopt an object that another component released",
		edits(listedBy("spec.takeOver"), unrecorded, unowned, releasedBy("them"), adopting()),
		"fails (Terminal), OwnershipConflict: it exists already, and spec.takeOver does not name it (managed by: nobody); " +
			"rename it here, or take it over: add {group: apps, kind: Deployment, namespace: shop, name: web} to " +
			"spec.takeOver; " + overwrites,
	},
	{
		"does not adopt an object that another tool marked after the component released it",
		edits(listedBy("spec.takeOver"), unrecorded, unowned, markedByHelm, releasedBy("us")),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; rename it here, or take " +
			"it over: add " +
			"{group: apps, kind: Deployment, namespace: shop, name: web} to spec.takeOver; " + overwrites,
	},
	{
		"does not adopt an object that the component released with the adoption policy never",
		edits(unrecorded, unowned, releasedBy("us"), func(s *scene) {
			s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever
		}),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; rename it " +
			"here; to adopt " +
			"it, set the policy " +
			"if-unowned: " + overwrites + "; do not delete it for that (" + podsStop + ")",
	},
	{
		"does not adopt an object in a deletion phase that the component released",
		edits(unrecorded, unowned, releasedBy("us"), inPhase),
		"fails (Terminal), OwnershipConflict: it exists already, and somebody else created it (managed by: " +
			"nobody); move the " +
			"other object to another name or namespace, and the deletion continues",
	},

	// A copy of a dependent has the marks of the component, and is an object of somebody else.
	{
		"reads a copy that a watch shows", edits(unrecorded, copied, unmarked),
		"Read: it is not known whether it belongs to another tool (uid u1, version 7)",
	},
	{
		"does not adopt a copy that a list lacks",
		edits(readyMade, unrecorded, copied, managedBy("kubectl-create"), adopting()),
		"fails (Terminal), OwnershipConflict: it exists already, and is a copy of Deployment.apps shop/first that " +
			"another client " +
			"made with the marks of the component, and spec.adopt does not name it (managed by: field manager " +
			"kubectl-create); " +
			"rename it here, or take it over: add {group: apps, kind: Deployment, namespace: shop, name: web} to spec.adopt " +
			"(fairlead apply -n a us DIR --adopt); " + overwrites,
	},
	{
		"does not adopt a copy that a list lacks after an interrupted creation",
		edits(listedBy("spec.takeOver"), neverWritten, copied, adopting()),
		"fails (Terminal), OwnershipConflict: it exists already, and is a copy of Deployment.apps shop/first that " +
			"another client " +
			"made with the marks of the component, and spec.takeOver does not name it (managed by: nobody); rename " +
			"it here, or " +
			"take it over: add {group: apps, kind: Deployment, namespace: shop, name: web} to spec.takeOver; " + overwrites,
	},
	{
		"adopts a copy that the component lists", edits(unrecorded, copied, adopting(webRule)),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7)",
	},
	{
		"adopts a copy without a list", edits(unrecorded, copied),
		"Apply: it exists and no component owns it (uid u1, version 7)",
	},
	{
		"adopts a copy that replaced a dependent, as each object that does", edits(recreatedByOthers, copied, adopting()),
		"Apply: it exists and no component owns it (uid u2, version 7) [repair]",
	},
	{
		"does not adopt a copy in a deletion phase", edits(unrecorded, copied, inPhase),
		"fails (Terminal), OwnershipConflict: it exists already, and is a copy of Deployment.apps shop/first that " +
			"another client " +
			"made with the marks of the component, and somebody else created it (managed by: nobody); move the " +
			"other object to another name or namespace, and the deletion continues",
	},
	{
		"writes a copy that the reconcile policy once would keep", edits(unrecorded, copied, once, adopting(webRule)),
		"Apply: it exists, and the component lists it to adopt (uid u1, version 7)",
	},
	{
		"takes an object of the previous cluster whose namespace a restore mapped for no copy",
		edits(listedBy("spec.takeOver"), unrecorded, ownedElsewhere, copied,
			adopting(metav1alpha1.AdoptRule{Cluster: previousCluster})),
		"Apply: the component owned it in another cluster, from 2b835fd7f88da280dccbf7cd172d0bf7e97c3830 (uid u1, version 7)",
	},
	{
		"takes no copy from another component", edits(unrecorded, ownedByOthers, copied, adopting(webRule)),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},
	{"keeps a recorded dependent whose marks somebody edited", edits(copied), "done"},

	// A component that was moved to another cluster takes over its objects if it lists the cluster.
	{
		"prints the entry that permits the take-over of an object that the component owned in another cluster",
		edits(readyMade, unrecorded, ownedElsewhere),
		"fails (Terminal), OwnershipConflict: the component owned it in another cluster; rename it here, or, if " +
			"it was moved " +
			"here from there, add {cluster: \"" + previousCluster + "\"} to spec.adopt (" +
			"fairlead apply -n a us DIR --adopt-cluster " + previousCluster + "); " + overwrites,
	},
	{
		"takes over an object that the component owned in a listed cluster",
		edits(unrecorded, ownedElsewhere, adopting(metav1alpha1.AdoptRule{Cluster: previousCluster})),
		"Apply: the component owned it in another cluster, from " + sceneOwner(previousCluster).ID() + " (uid u1, version 7)",
	},
	{
		"takes over an object that the component owned in a listed cluster, with a restored inventory",
		edits(ownedElsewhere, adopting(metav1alpha1.AdoptRule{Cluster: previousCluster})),
		"Apply: the component owned it in another cluster, from " + sceneOwner(previousCluster).ID() +
			" (uid u1, version 7) [repair]",
	},
	{
		"takes over no object of another component in a listed cluster",
		edits(unrecorded, ownedByOthers, adopting(metav1alpha1.AdoptRule{Cluster: previousCluster})),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here" + moves(podsStop),
	},
	{
		"takes over no object that the component owned in a cluster that is not listed",
		edits(readyMade, unrecorded, ownedElsewhere, adopting(metav1alpha1.AdoptRule{Cluster: "another"})),
		"fails (Terminal), OwnershipConflict: the component owned it in another cluster; rename it here, or, if " +
			"it was moved " +
			"here from there, add {cluster: \"" + previousCluster + "\"} to spec.adopt (" +
			"fairlead apply -n a us DIR --adopt-cluster " + previousCluster + "); " + overwrites,
	},
	{
		"prints no entry for a text that is no UID of a cluster",
		edits(listedBy("spec.adopt"), unrecorded, ownedBy(sceneOwner("a, b").String())),
		"fails (Terminal), OwnershipConflict: it is owned by Shop.example.com a/us (reconciler fairlead.io) in the cluster " +
			"whose namespace kube-system has the UID a, b; rename it here" + moves(podsStop),
	},

	// The types of authors have other fields, or none.
	{
		"names the policy for an object with the mark of another tool, if the type of the component has no list",
		edits(unrecorded, unowned, markedByHelm),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; rename it here, or take " +
			"it over: set " +
			"the annotation fairlead.io/adoption-policy of its manifest to always; " + overwrites,
	},
	{
		"names no entry in a deletion phase, if the type of the component has no list",
		edits(unrecorded, unowned, markedByHelm, inPhase),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; move the other object to another " +
			"name or namespace, and the deletion continues",
	},
	{
		"names the field of the author's type, and no command",
		edits(listedBy("spec.takeOver"), unrecorded, unowned, markedByHelm),
		"fails (Terminal), OwnershipConflict: it belongs to the Helm release shop/web; rename it here, or take " +
			"it over: add " +
			"{group: apps, kind: Deployment, namespace: shop, name: web} to spec.takeOver; " + overwrites,
	},
	{
		"names the list of an author whose field is not known",
		edits(unrecorded, unowned, adopting()),
		"fails (Terminal), OwnershipConflict: it exists already, and the list of objects that the component may adopt does " +
			"not name it (managed by: nobody); rename it here, or take it over: add {group: apps, kind: Deployment, " +
			"namespace: shop, name: web} to the list of objects that the component may adopt; " + overwrites,
	},
	{
		"names the policy for an object that the component owned in another cluster, if its type has no list",
		edits(unrecorded, ownedElsewhere),
		"fails (Terminal), OwnershipConflict: the component owned it in another cluster; rename it here, or, if " +
			"it was moved " +
			"here from there, set the annotation fairlead.io/adoption-policy of its manifest to always; " + overwrites,
	},
	{
		"takes over an object that the component owned in another cluster with the adoption policy always",
		edits(always, unrecorded, ownedElsewhere),
		"Apply: it exists, and its adoption policy is always, from " + sceneOwner(previousCluster).ID() +
			" (uid u1, version 7)",
	},

	// An object whose manifest drops a field that the API server retains is a failure.
	{
		"reports that the clusterIP of a headless Service cannot be removed, instead of a write without effect",
		edits(newManifest, keeps, body("{spec: {ports: []}}")),
		"fails (Terminal), Immutable: the manifest no longer sets spec.clusterIP, but the API server would retain it, " +
			"because the field cannot change " +
			"(keep its value; the annotation fairlead.io/update-policy: recreate on the manifest of this object " +
			"deletes it and " +
			"creates it again with the new value, but its cluster IP, node ports and load balancer can change)",
	},
	{
		"updates a Service whose manifest still sets the clusterIP",
		edits(newManifest, keeps, body("{spec: {clusterIP: None}}")),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"updates a Service whose new type has no clusterIP", edits(newManifest, keeps, body("{spec: {type: ExternalName}}")),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"recreates a Service whose clusterIP is removed, with the update policy recreate",
		edits(newManifest, keeps, recreating, body("{spec: {ports: []}}")),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"repairs a Service whose manifest did not change", edits(keeps, drifted, body("{spec: {ports: []}}")),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},

	// An object that was written from another manifest is updated.
	{"updates a changed object in its wave", edits(newManifest), "Apply: its manifest changed (uid u1, version 7)"},
	{
		"updates an object by a regular update if the default update policy is replace", edits(newManifest, replacing),
		"Replace: its manifest changed (uid u1, version 7)",
	},
	{
		"uses the update policy of the object instead of the default",
		edits(newManifest, replacing, func(s *scene) { s.object.Settings.UpdatePolicy = metav1alpha1.UpdateSSAMerge }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"deletes a changed object with the update policy recreate", edits(newManifest, recreating),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a definition", edits(newManifest, recreating, func(s *scene) {
			s.object.Types = make(
				[]manifests.ManagedType, 1)
		}),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a namespace", edits(newManifest,
			recreating, func(s *scene) { s.object.Stage = manifests.StageNamespaces }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a PersistentVolumeClaim, because it contains data", edits(newManifest, recreating, claim),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"recreates a PersistentVolumeClaim whose manifest allows its deletion",
		edits(newManifest, recreating, deletableClaim),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{"updates an object whose settings changed", edits(newSettings), "Apply: its settings changed (uid u1, version 7)"},
	{
		"updates changed settings in place, also with the update policy recreate", edits(newSettings, recreating),
		"Apply: its settings changed (uid u1, version 7)",
	},
	{
		"recreates an object whose content and settings changed, with the update policy recreate",
		edits(recreating, func(s *scene) { s.object.Digest = "d2.s2" }),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"updates an object when its reconcile policy is no longer once",
		edits(newManifest, func(s *scene) { s.live.Digest, s.entry.Digest = "d1.s1", "d1.s1" }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"repairs a digest annotation that another client changed at once", edits(func(s *scene) { s.live.Digest = "forged" }),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{"does not update an object with another rendering of the same inputs", edits(renderedAgain), "done"},
	{
		"updates an object when a looked-up object changes its manifest", edits(lookedUpAgain),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"does not repair drift with another rendering of the same inputs", edits(renderedAgain, drifted),
		"fails (Terminal), NotDeterministic: it drifted, but is not repaired: its manifest differs at each rendering, for " +
			"example because of random values; " +
			"render the values that the object has at each rendering, for example from a Secret; any other change of the " +
			"inputs replaces them by new values",
	},
	{
		"updates an object that was never applied, with another rendering of the same inputs",
		edits(renderedAgain, neverWritten, func(s *scene) { s.live.Digest = "" }),
		"Apply: its manifest changed (uid u1, version 7)",
	},

	// An object whose state after the last write was not stored is compared with its manifest.
	{
		"reads an object whose write was not recorded because of a crash", edits(neverWritten),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7)",
	},
	{
		"reads an object that was recreated with the owner label", edits(recreatedByOthers),
		"Read: it is not known whether it drifted since it was applied (uid u2, version 7) [repair]",
	},
	{
		"reads an object whose entry in the inventory has no hash", edits(func(s *scene) { s.entry.Fields = "" }),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7) [repair]",
	},
	{
		"records an object after a read if the reconciler owns all fields of the manifest",
		edits(neverWritten, answered(VerbRead), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"updates an object after a read if the reconciler does not own all fields of the manifest",
		edits(neverWritten, answered(VerbRead), coverage(CoveragePartial)),
		"Apply: it is not known whether it drifted since it was applied (uid u1, version 7)",
	},
	{
		"records the hash of the managed fields after a create that covers the manifest",
		edits(neverWritten, answered(VerbCreate), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"records the hash of the values after a create that does not cover the manifest",
		edits(neverWritten, answered(VerbCreate), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records the hash of the values after an apply that does not cover the manifest",
		edits(neverWritten, answered(VerbApply), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records the hash of the values after a replace that does not cover the manifest",
		edits(replacing, neverWritten, answered(VerbReplace), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records which fields admission changed in a write",
		edits(neverWritten, answered(VerbCreate), coverage(CoverageFull), overridden("spec.a is missing")),
		"done [record u=u1 d=d1 f=f1 ov=spec.a%20is%20missing]",
	},
	{
		"does not record as changed by admission what another manifest set",
		edits(createOnly, unrecorded, newManifest, answered(VerbRead), overridden("spec.a is missing")),
		"done [record u=u1 d=d1]",
	},
	{
		"records the hash of the Update entry with the update policy replace",
		edits(replacing, neverWritten, answered(VerbReplace), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"records a written object, and waits until it is ready",
		edits(neverWritten, answered(VerbCreate), coverage(CoverageFull), readiness(ready.InProgress, "0 of 1 replicas")),
		"waits, InProgress: 0 of 1 replicas [applied] [record u=u1 d=d1 f=f1]",
	},

	// An object that drifted is repaired.
	{"repairs an object that another client changed", edits(drifted), "Apply: it drifted (uid u1, version 7) [repair]"},
	{
		"repairs an object in place, also with the update policy recreate", edits(drifted, recreating),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"repairs an object by a regular update with the update policy replace", edits(drifted, replacing),
		"Replace: it drifted (uid u1, version 7) [repair]",
	},
	{
		"detects drift by the Apply entry with the policies of server-side apply",
		edits(func(s *scene) { s.live.Updated = "f2" }),
		"done",
	},
	{
		"detects drift by the Update entry with the update policy replace",
		edits(replacing, func(s *scene) { s.live.Applied = "f2" }), "done",
	},
	{
		"records the hash after a repair, and does not repeat the repair",
		edits(drifted, answered(VerbApply), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f2]",
	},
	{
		"records the hash of the values after a repair that does not cover the manifest",
		edits(drifted, answered(VerbApply), coverage(CoveragePartial), values("v2")),
		"done [record u=u1 d=d1 v=v2]",
	},
	{
		"repairs drift that appears after a write of the same pass", edits(drifted, answered(VerbApply)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"repairs an object whose drift a read confirms", edits(drifted, answered(VerbRead), coverage(CoverageFull)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"reads an object whose values must be compared", edits(comparedByValue),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7) [repair]",
	},
	{
		"does not repair an object with equal values, even if its managed fields changed",
		edits(comparedByValue, drifted, values("v1")), "done",
	},
	{
		"repairs an object with different values",
		edits(comparedByValue, answered(VerbRead), values("v2"), coverage(CoveragePartial)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"records the values that the API server sets again after a repair",
		edits(comparedByValue, answered(VerbApply), values("v2"), coverage(CoveragePartial)),
		"done [record u=u1 d=d1 v=v2]",
	},

	// An object is applied again when the component changed, if its reconcile policy requires that.
	{"does not apply an object again in the same state of the component", edits(following), "done"},
	{
		"applies an object with the policy on-object-or-component-change again in its wave",
		edits(following, componentChanged),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"applies an object again after a change of the component if this is the default policy",
		edits(following, componentChanged, byDefault),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"applies an object again in place, also with the update policy recreate",
		edits(following, componentChanged, recreating),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"applies an object again by a regular update with the update policy replace",
		edits(following, componentChanged, replacing),
		"Replace: the component changed (uid u1, version 7)",
	},
	{
		"does not apply an object again if the state of the component is not given",
		edits(following, func(s *scene) { s.trigger = "" }), "done",
	},
	{
		"does not repeat a write after a change of the component if the write changed nothing",
		edits(following, componentChanged, answered(VerbApply)),
		"done [record u=u1 d=d1 f=f1 g=t2]",
	},
	{
		"records the new state of the component after a change of the manifest",
		edits(following, componentChanged, answered(VerbApply),
			coverage(CoverageFull), func(s *scene) { s.entry.Digest = "d0" }),
		"done [record u=u1 d=d1 f=f1 g=t2]",
	},
	{
		"applies an object again if a crash prevented the record of the component's state",
		edits(following, neverWritten, componentChanged, answered(VerbRead), coverage(CoverageFull)),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"does not apply another rendering of the same inputs after a change of the component",
		edits(following, componentChanged, renderedAgain),
		"done",
	},
	{
		"waits for the readiness of an object that was applied after a change of the component",
		edits(following, componentChanged, answered(VerbApply), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d1 f=f1 g=t2]",
	},

	// An object is applied again after its reapply interval.
	{
		"applies an object again after its reapply interval", edits(reapplied(66)),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"applies an object again in place, also with the update policy recreate", edits(reapplied(66), recreating),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"applies an object again after the default reapply interval", edits(reapplied(66), byDefault),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{"does not apply an object again before the end of its reapply interval", edits(reapplied(59)), "done"},
	{"delays the reapply of an object whose interval ended long ago", edits(reapplied(600), startedAgo(0)), "done"},
	{
		"applies an object again after the delay, if its interval ended long ago", edits(reapplied(600), startedAgo(6)),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"uses a reapply interval of zero instead of the default",
		edits(reapplied(66), byDefault, func(s *scene) { s.object.Settings.ReapplyInterval = new(time.Duration(0)) }),
		"done",
	},
	{
		"records the time of a reapply", edits(reapplied(66), answered(VerbApply)),
		"done [record u=u1 d=d1 f=f1 a=10000]",
	},
	{
		"records the time of a repair for the reapply interval",
		edits(reapplied(66), drifted, answered(VerbApply), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f2 a=10000]",
	},
	{
		"does not apply another rendering of the same inputs after the reapply interval",
		edits(reapplied(66), renderedAgain), "done",
	},
	{"does not recreate a purged object after the reapply interval", edits(reapplied(66), purged), "done"},

	// An object that failed is deleted if its manifest requires that, and stays failed.
	{
		"deletes a failed object with the setting purge-failed", edits(purgingFailed, readiness(ready.Failed, "no")),
		"Delete: it failed (uid u1, version 7) [record u=u1 d=d1 f=f1 !fd@v0.1=no]",
	},
	{
		"does not delete a failed object that contains other objects",
		edits(purgingFailed, claim, readiness(ready.Failed, "no")), "fails (Terminal), DependentFailed: no [applied]",
	},
	{
		"waits for an object with the setting purge-failed that has not failed",
		edits(purgingFailed, readiness(ready.InProgress, "it runs")), "waits, InProgress: it runs [applied]",
	},
	// An author compares objects with their manifests.
	{
		"reads an object whose matcher has not seen this version", edits(matched(nil)),
		"Read: its matcher compares its content (uid u1, version 7) [repair]",
	},
	{
		"leaves an object that equals its manifest by its matcher, although its fields drifted",
		edits(drifted, matched(&MatchResult{})), "done",
	},
	{
		"repairs an object that differs by its matcher, although its fields did not drift",
		edits(matched(&MatchResult{Differs: "x"})),
		"Apply: it differs from its manifest (uid u1, version 7) [repair]",
	},
	{
		"repairs an object that differs by its matcher, and whose last write was not recorded",
		edits(neverWritten, coverage(CoverageFull), matched(&MatchResult{Differs: "x"})),
		"Apply: it differs from its manifest (uid u1, version 7)",
	},
	{
		"repairs an object once in a pass if it differs always", edits(answered(VerbApply), coverage(CoverageFull),
			matched(&MatchResult{Differs: "x"})),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"leaves an object that differs alone until the time of its matcher",
		edits(drifted, matched(&MatchResult{Differs: "x", LeaveUntil: sceneTime.Add(time.Minute)})), "done",
	},
	{
		"does not update an object before the time of its matcher",
		edits(newManifest, matched(&MatchResult{LeaveUntil: sceneTime.Add(time.Minute)})),
		"waits, LeftAlone: its manifest changed, but its matcher leaves it alone until 1970-01-01T02:47:40Z",
	},
	{
		"updates an object after the time of its matcher", edits(newManifest, matched(&MatchResult{LeaveUntil: sceneTime})),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"updates an object with a new manifest, whatever its matcher says", edits(newManifest, matched(&MatchResult{})),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"leaves an object with a new manifest that its matcher accepts", edits(newManifest, matched(&MatchResult{Accepts: true})),
		"done",
	},
	{
		"leaves an object with a new manifest that its matcher accepts, and leaves alone",
		edits(newManifest, matched(&MatchResult{Accepts: true, LeaveUntil: sceneTime.Add(time.Minute)})), "done",
	},
	{
		"leaves an object with a new manifest that its matcher accepts, although its record was lost",
		edits(newManifest, neverWritten, coverage(CoverageFull), matched(&MatchResult{Accepts: true})),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"updates an object with a new manifest that its matcher accepts, if it differs",
		edits(newManifest, matched(&MatchResult{Accepts: true, Differs: "x"})), "Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"repairs an object without the digest of a manifest, whatever its matcher accepts",
		edits(newManifest, matched(&MatchResult{Accepts: true}), func(s *scene) { s.live.Digest = "" }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"leaves an object whose matcher failed", edits(drifted, matched(&MatchResult{Failed: "its matcher panicked"})),
		"fails (Terminal), MatcherFailed: its matcher panicked",
	},
	{
		"reads an object whose readiness only its content shows",
		edits(readiness(ready.Unread, "")),
		"Read: the condition of its readiness reads its content (uid u1, version 7) [repair]",
	},
	{
		"reads an object whose readiness only its content shows before it counts as failed by its timeout",
		edits(purgingFailed, timed(60), readiness(ready.Unread, "")),
		"Read: the condition of its readiness reads its content (uid u1, version 7) [repair]",
	},
	{
		"updates an object whose readiness only its content shows without a read",
		edits(newManifest, readiness(ready.Unread, "")),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"deletes an object with the setting purge-failed that is not ready at its timeout",
		edits(purgingFailed, timed(60), readiness(ready.InProgress, "it runs")),
		"Delete: it failed (uid u1, version 7) [record u=u1 d=d1 f=f1 a=9940 " +
			"!fd@v0.1=not%20ready%20within%201m0s:%20it%20runs]",
	},
	{
		"waits for an object with the setting purge-failed until its timeout",
		edits(purgingFailed, timed(59), readiness(ready.InProgress, "it runs")), "waits, InProgress: it runs [applied]",
	},
	{
		"is done if an object with the setting purge-failed is ready after its timeout", edits(purgingFailed, timed(60)),
		"done",
	},
	{
		"deletes a failed object with the setting purge-failed after a crash",
		edits(purgedFailed, readiness(ready.Failed, "no")),
		"Delete: it failed (uid u1, version 7)",
	},
	{
		"does not recreate an object that was deleted because it failed", edits(purgedFailed, absent),
		"fails (Terminal), DependentFailed: no; it was deleted, as its manifest says; it is created again when its content " +
			"changes [applied]",
	},
	{
		"does not change an object that another client created in place of a failed object",
		edits(purgedFailed, recreatedByOthers, unowned),
		"fails (Terminal), DependentFailed: no; it was deleted, as its manifest says; it is created again when its content " +
			"changes [applied]",
	},
	{
		"recreates an object that was deleted because it failed when its content changes",
		edits(purgedFailed, absent, newManifest), "Create: its manifest changed",
	},

	// An object with a timeout fails if it is not ready when the timeout ends.
	{
		"waits for an object that is in progress until its timeout", edits(timed(59), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},
	{
		"fails if an object is not ready at its timeout", edits(timed(60), readiness(ready.InProgress, "it runs")),
		"fails (Terminal), Timeout: not ready within 1m0s: it runs [applied]",
	},
	{"is done if an object is ready after its timeout", edits(timed(600)), "done"},
	{
		"records the time of the apply for the timeout of the object",
		edits(timed(600), newManifest, writtenAs("d2"), answered(VerbApply), coverage(CoverageFull),
			readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d2 f=f1 a=10000]",
	},
	{
		"does not use the time of an apply of another manifest for the timeout",
		edits(timed(600), newManifest, writtenAs("d2"), coverage(CoverageFull), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d2 f=f1]",
	},

	// The component waits for an object in sync until it is ready.
	{"is done if the object is ready", nil, "done"},
	{
		"waits for an object that is in progress", edits(readiness(ready.InProgress, "0 of 1 replicas")),
		"waits, InProgress: 0 of 1 replicas [applied]",
	},
	{
		"waits for an object whose status cannot be interpreted", edits(readiness(ready.Unknown, "no conditions")),
		"waits, Unknown: no conditions [applied]",
	},
	{
		"fails if the object has failed", edits(readiness(ready.Failed, "deadline exceeded")),
		"fails (Terminal), DependentFailed: deadline exceeded [applied]",
	},
	{
		"records a finished Job with ttlSecondsAfterFinished as completed",
		edits(job), "done [record u=u1 d=d1 f=f1 c=true]",
	},
	{"records a finished Job only once", edits(job, completedEntry), "done"},
	{
		"does not record a running Job as completed", edits(job, readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},
})

func TestApplyRules(t *testing.T) {
	for _, r := range applyRows {
		t.Run(r.name, func(t *testing.T) {
			if got := decide(applyRules, newScene(r.scene).candidate()).text(); got != r.want {
				t.Errorf("the rules decide  %s\nwant %s", got, r.want)
			}
		})
	}
}

// deleteRows has at least one row for each of the deleteRules.
var deleteRows = []row{
	// An object that failed in this pass is not tried again before the next pass.
	{
		"fails with the reason of the API server", edits(failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},
	{
		"fails in this pass if another client changed the object five times", edits(attempts(5)),
		"fails (Transient), ChangedMeanwhile: it changed 5 times while it was being deleted",
	},
	{"makes a fifth attempt", edits(attempts(4)), "Delete: it is no longer rendered (uid u1, version 7)"},

	// The entry of an object that is confirmed not to exist is dropped.
	{"removes an object from the inventory if a read confirmed that it does not exist", edits(confirmedAbsent), "done"},

	{"removes a purged object from the inventory without a read", edits(purged), "done"},
	{
		"reads an object that was being purged",
		edits(purging, completedEntry, absent), "Read: its absence must be confirmed (uid u1, version )",
	},
	{
		"deletes an object with the owner label that was created in place of a purged object",
		edits(purged, func(s *scene) { s.live = newScene(nil).live }),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// The entry of an object that is not ours any more is dropped, and the object is not changed.
	{"removes an object that another component now owns from the inventory", edits(ownedByOthers), "done"},
	{"removes an object from the inventory if another object has its name", edits(unowned, recreatedByOthers), "done"},
	{
		"removes an object without an owner label from the inventory if the reconciler never wrote the object",
		edits(neverWritten, unowned), "done",
	},
	{
		"removes an object of another owner from the inventory, even while it is being deleted",
		edits(ownedByOthers, terminating), "done",
	},

	// An object that a watch does not show is read.
	{
		"confirms by a read that an absent object does not exist", edits(absent),
		"Read: its absence must be confirmed (uid u1, version )",
	},
	{
		"confirms by a read that an object that was never written does not exist",
		edits(neverWritten, absent), "Read: its absence must be confirmed",
	},

	// An object of a type that is not served is read.
	{"reads an object whose type is not served", edits(notServed), "Read: its type is not served"},

	// The entry of an object of a type without stored objects is dropped.
	{"removes an entry of a kind without stored objects from the inventory", edits(neverWritten, notListable), "done"},
	{
		"does not remove the entry of an object whose kind cannot be listed but that was written",
		edits(notListable), "waits, NotListable: its type cannot be listed",
	},

	// An object of a type that is not watched is read.
	{
		"reads an object of an unwatched type before it deletes the object",
		edits(unwatched), "Read: its type cannot be watched",
	},

	// An object fails if the API server refuses the credentials.
	{
		"fails without a wait if the API server refuses the credentials", edits(unauthorized),
		"fails (Terminal), Unauthorized: renew the credentials",
	},

	// An object in an unknown state waits.
	{"waits while the state of the object is unknown", edits(unknown), "waits, ListFailed: no answer"},
	{
		"treats an empty presence as unknown", edits(func(s *scene) { s.live = Observed{Reason: "Observing"} }),
		"waits, Observing: ",
	},

	// An object is orphaned if its delete policy requires that. The entry of an orphaned object is dropped.
	{
		"releases a PersistentVolumeClaim", edits(claim),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"releases a PersistentVolumeClaim that another client is deleting, and does not wait", edits(claim, terminating),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{"removes a released PersistentVolumeClaim from the inventory", edits(claim, unowned, answered(VerbOrphan)), "done"},
	{
		"removes a PersistentVolumeClaim from the inventory if a crash prevented the record of its release",
		edits(claim, orphaned), "done",
	},
	{
		"removes the reconciler's annotations from a PersistentVolumeClaim that lost only its owner label",
		edits(claim, unowned),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"releases an object with the delete policy orphan when it is no longer rendered", edits(recordedPolicy("orphan")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"releases an object with the delete policy orphan when its component is deleted",
		edits(recordedPolicy("orphan"), withComponent),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"releases an object with the delete policy orphan-on-apply when it is no longer rendered",
		edits(recordedPolicy("orphan-on-apply")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"deletes an object with the delete policy orphan-on-apply with its component",
		edits(recordedPolicy("orphan-on-apply"), withComponent),
		"Delete: the component is being deleted (uid u1, version 7)",
	},
	{
		"deletes an object with the delete policy orphan-on-delete when it is no longer rendered",
		edits(recordedPolicy("orphan-on-delete")),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"releases an object with the delete policy orphan-on-delete when its component is deleted",
		edits(recordedPolicy("orphan-on-delete"), withComponent),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"deletes an object in its purge wave, whatever its delete policy is",
		edits(recordedPolicy("orphan"), func(s *scene) { s.reason = ReasonPurged }),
		"Delete: " + string(ReasonPurged) + " (uid u1, version 7)",
	},
	{
		"releases a PersistentVolumeClaim in its purge wave", edits(claim, func(s *scene) { s.reason = ReasonPurged }),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"releases an object with an unknown delete policy", edits(recordedPolicy("bury")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"uses the recorded delete policy instead of the delete policy of the current manifest",
		edits(recordedPolicy("orphan"), func(s *scene) {
			s.object.Settings.DeletePolicy, s.defaults.Delete = "delete",
				"delete"
		}),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"removes a released object from the inventory",
		edits(recordedPolicy("orphan"), orphaned, answered(VerbOrphan)), "done",
	},
	{
		"releases a namespace with any contents", edits(namespace(Contents{Count: 1}), recordedPolicy("orphan")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{"does not release an object of another owner", edits(claim, ownedByOthers), "done"},
	{
		"reads a PersistentVolumeClaim that the watch does not show",
		edits(claim, absent), "Read: its absence must be confirmed (uid u1, version )",
	},
	{
		"reports the reason for which a PersistentVolumeClaim cannot be released",
		edits(claim, failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},
	{
		"deletes a PersistentVolumeClaim whose manifest allows its deletion", edits(deletableClaim),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes a PersistentVolumeClaim whose manifest allows its deletion, and that lost its owner label",
		edits(deletableClaim, unowned),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// A namespace is not deleted while it holds objects that would be deleted only with it.
	{
		"does not delete a namespace that contains foreign objects",
		edits(namespace(Contents{Count: 12, Keys: []manifests.Key{
			{Kind: "ConfigMap", Namespace: "shop", Name: "a"},
			{Kind: "Secret", Namespace: "shop", Name: "b"},
		}})),
		"fails (Terminal), NamespaceNotEmpty: the namespace contains objects that would be deleted with it (12): ConfigMap " +
			"shop/a, Secret shop/b and more; " +
			"it is kept until they are deleted; to keep it and them, render it again, or first with the delete policy orphan; " +
			"what you delete in it is lost",
	},
	{
		"says how to keep a namespace that contains foreign objects while its component is deleted",
		edits(withComponent, namespace(Contents{
			Count: 1,
			Keys:  []manifests.Key{{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
		})),
		"fails (Terminal), NamespaceNotEmpty: the namespace contains objects that would be deleted with it (1): " +
			"ConfigMap shop/a; " +
			"it is kept until they are deleted; to keep it and them, set the delete policy orphan (spec.deletePolicy, " +
			"if its type " +
			"has it) and wait until it is reconciled, " +
			"before you delete the component; in a deletion that runs, remove the operator's finalizer from the component: " +
			"dependents that are " +
			"not deleted yet stay; what you delete in it is lost",
	},
	{
		"names no object in a namespace that the identity of the component may not get",
		edits(namespace(Contents{
			Count: 3,
			Keys:  []manifests.Key{{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
		}), func(s *scene) { s.unnamed = true }),
		"fails (Terminal), NamespaceNotEmpty: the namespace contains objects that would be deleted with it (3), which the " +
			"identity of the component " +
			"may not get; it is kept until they are deleted; to keep it and them, render it again, or first with the delete " +
			"policy orphan; what you delete in it is lost",
	},
	{
		"releases a namespace that Kubernetes never deletes",
		edits(withComponent, namespace(Contents{
			Count: 1,
			Keys:  []manifests.Key{{Kind: "ConfigMap", Namespace: "kube-public", Name: "a"}},
		}), func(s *scene) {
			s.become(manifests.Key{Kind: "Namespace", Name: "kube-public"})
		}),
		"Orphan: Kubernetes never deletes this namespace (uid u1, version 7)",
	},
	{
		"does not delete a namespace whose contents are unknown",
		edits(namespace(Contents{Failure: &Failure{Class: Transient, Reason: "Unreachable", Message: "no answer"}})),
		"fails (Transient), Unreachable: no answer",
	},
	{
		"deletes an empty namespace", edits(namespace(Contents{})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"reads an object that is being deleted if no watch shows its condition gone-when",
		edits(terminating, func(s *scene) { s.live.Gone = GoneUnread }),
		"Read: the condition of its deletion reads its content (uid u1, version 7)",
	},
	{
		"waits for the deletion of a namespace with any contents by another client",
		edits(namespace(Contents{Count: 1}), terminating),
		"waits, NotGone: it is being deleted",
	},
	{
		"checks only the contents of namespaces", edits(func(s *scene) { s.contents.Count = 1 }),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// The component waits for an object that is being deleted.
	{
		"waits until a deleted object no longer exists", edits(terminating),
		"waits, NotGone: it is being deleted",
	},

	{
		"retries while an object without its owner label is being deleted, because no watch shows the end of the deletion",
		edits(terminating, unowned),
		"fails (Transient), NotGone: it is being deleted",
	},

	// A guard is set up only for one of our definitions that can be deleted.
	{
		"tries the deletion of a definition before an admission guard is set up", edits(definition(Guard{})),
		"TryDelete: the deletion of a definition is tried before a guard is set up (uid u1, version 7)",
	},
	{
		"tries the deletion of a definition that the admission guard does not protect",
		edits(definition(Guard{
			Definitions:    []string{"gadgets.example.com"},
			EffectiveSince: sceneTime.Add(-guardSettleTime),
		})),
		"TryDelete: the deletion of a definition is tried before a guard is set up (uid u1, version 7)",
	},
	{
		"deletes a definition without an admission guard if it lost its owner label", edits(definition(Guard{}), unowned),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes a definition without an admission guard if its UID is not the recorded UID",
		edits(definition(Guard{}), recreatedByOthers), "Delete: it is no longer rendered (uid u2, version 7)",
	},
	{
		"drops an object with the recorded UID without a trace of us",
		edits(orphaned), "done",
	},

	// A definition is not deleted before a guard is in effect.
	{
		"does not delete a definition without an admission guard", edits(definition(Guard{}), answered(VerbTryDelete)),
		"waits for a guard",
	},
	{
		"does not delete a definition while its admission guard is not in effect",
		edits(definition(Guard{Definitions: widgetNames})),
		"waits for a guard",
	},
	{
		"does not delete a definition at once when its guard takes effect, because admitted instances may not be stored yet",
		edits(definition(Guard{Definitions: widgetNames, EffectiveSince: sceneTime.Add(-guardSettleTime / 2)})),
		"waits for a guard",
	},
	{
		"does not delete a definition that the admission guard does not protect",
		edits(definition(Guard{
			Definitions:    []string{"gadgets.example.com"},
			EffectiveSince: sceneTime.Add(-guardSettleTime),
		}), answered(VerbTryDelete)),
		"waits for a guard",
	},
	{
		"deletes a definition when its admission guard has been in effect for the settle time",
		edits(definition(Guard{Definitions: widgetNames, EffectiveSince: sceneTime.Add(-guardSettleTime)})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes a definition without an admission guard if no guard can be set up",
		edits(definition(Guard{Unavailable: true})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"needs no admission guard for a definition that another client deletes", edits(definition(Guard{}), terminating),
		"waits, NotGone: it is being deleted",
	},
	{
		"needs no admission guard for a definition that is released",
		edits(definition(Guard{}), func(s *scene) { s.entry.DeletePolicy = metav1alpha1.DeleteOrphan }),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},

	// Our object is deleted.
	{"deletes an object with the owner label", nil, "Delete: it is no longer rendered (uid u1, version 7)"},
	{
		"deletes an object with the recorded UID that lost its owner label", edits(unowned),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes an object with the owner label whose UID was not recorded", edits(neverWritten),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes an object that was recreated with the owner label", edits(recreatedByOthers),
		"Delete: it is no longer rendered (uid u2, version 7)",
	},
	{
		"deletes an object that drifted or failed", edits(drifted, readiness(ready.Failed, "")),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
}

func TestDeleteRules(t *testing.T) {
	for _, r := range deleteRows {
		t.Run(r.name, func(t *testing.T) {
			if got := decide(deleteRules, newScene(r.scene).removal()).text(); got != r.want {
				t.Errorf("the rules decide  %s\nwant %s", got, r.want)
			}
		})
	}
}

// TestEveryRuleMatters removes each rule in turn. Then at least one row must fail.
func TestEveryRuleMatters(t *testing.T) {
	expectNoticed(t, "applying", applyRules, applyRows, scene.candidate)
	expectNoticed(t, "deleting", deleteRules, deleteRows, scene.removal)
}

func expectNoticed[S any](t *testing.T, what string, rules []rule[S], rows []row, subject func(scene) S) {
	t.Helper()
	for i, dropped := range rules {
		rest := slices.Delete(slices.Clone(rules), i, i+1)
		noticed := slices.ContainsFunc(rows, func(r row) bool {
			return decide(rest, subject(newScene(r.scene))).
				text() != r.want
		})
		if !noticed {
			t.Errorf("%s: no row fails without the rule %q", what, dropped.name)
		}
	}
}

func onceByDefault(s *scene) { s.defaults.Reconcile = metav1alpha1.ReconcileOnce }

// byDefault moves the reconcile policy and the reapply interval of the dependent to the defaults.
func byDefault(s *scene) {
	settings := &s.object.Settings
	s.defaults.Reconcile, settings.ReconcilePolicy = settings.ReconcilePolicy, ""
	if settings.ReapplyInterval != nil {
		s.defaults.Reapply, settings.ReapplyInterval = *settings.ReapplyInterval, nil
	}
}

var widgetNames = []string{"widgets.example.com"}

func once(s *scene) { s.object.Settings.ReconcilePolicy = metav1alpha1.ReconcileOnce }

func notListable(s *scene) {
	s.live = Observed{Presence: Unknown, Reason: WaitNotListable, Message: "its type cannot be listed"}
}

const podsStop = "its pods stop, and their logs and local data are lost"

// overwrites says what a take-over under the default update policy does to the values that an object has.
const overwrites = "the values of its manifest here then replace those that it has, and values of kubectl or Helm " +
	"that the manifest does not " +
	"set are removed, unless it has the annotation fairlead.io/update-policy: ssa-merge"

// moves is the advice in an ownership conflict about an object whose deletion loses something.
func moves(loss string) string {
	return "; to move it here, set its adoption policy to always here before it is removed there, which deletes " +
		"it otherwise (" + loss + "); " + overwrites
}
