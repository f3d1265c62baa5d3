package plan

import (
	"slices"
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

// applyRows has at least one row for each of the applyRules.
var applyRows = []row{
	// An object of another owner is taken over if the adoption policy is always.
	{
		"takes over what somebody else owns", edits(always, unrecorded, ownedByOthers),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over by a regular update where that is the policy", edits(always, replacing, neverWritten, ownedByOthers),
		"Replace: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over in place, also where changes recreate", edits(always, recreating, unrecorded, ownedByOthers),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes over where always is the default", edits(unrecorded, ownedByOthers, func(s *scene) { s.defaults.Adoption = metav1alpha1.AdoptAlways }),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"takes back what was taken over when its manifest changes", edits(always, ownedByOthers, newManifest),
		"Apply: it exists, and its adoption policy is always, from them (uid u1, version 7)",
	},
	{
		"does not take back what was taken over: they could take it from each other for ever", edits(always, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; remove it there or here, or change " +
			"its manifest here to take it back",
	},
	{
		"does not take it back because it is rendered again", edits(always, ownedByOthers, renderedAgain),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; remove it there or here, or change " +
			"its manifest here to take it back",
	},
	{
		"does not take it back where the new owner created it anew", edits(always, ownedByOthers, recreatedByOthers),
		"fails (Terminal), OwnershipConflict: it was taken over by Component b/them; remove it there or here, or change " +
			"its manifest here to take it back",
	},
	{
		"waits for what somebody else deletes, also where it adopts always", edits(always, unrecorded, ownedByOthers, terminating),
		"fails (Transient), Terminating: it is being deleted; it is created again once it is gone",
	},

	// A missing namespace is created if the policy permits that.
	{
		"creates the namespace that the API server missed", edits(homeless),
		"CreateNamespace: dependents need it, and it does not exist",
	},
	{
		"creates the namespace at once of what was applied before", edits(homeless, func(s *scene) { s.entry.Digest = "d1" }),
		"CreateNamespace: dependents need it, and it does not exist [repair]",
	},
	{"tries again once the namespace is there", edits(homeless, namespaceCreated(nil)), "Create: it is new"},
	{
		"does not try for ever where somebody deletes it each time", edits(homeless, namespaceCreated(nil), attempts(5)),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},
	{
		"says why the namespace could not be created", edits(homeless, namespaceCreated(&Failure{Class: Terminal, Reason: "Forbidden", Message: "no rights"})),
		"fails (Terminal), NamespaceMissing: namespace shop does not exist, and could not be created: no rights; create " +
			"it, or grant the right to create it",
	},
	{
		"leaves the namespace to others where the policy refuses", edits(homeless, func(s *scene) { s.defaults.MissingNamespaces = metav1alpha1.MissingNamespacesRefuse }),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},
	{
		"leaves a namespace that is a dependent to its wave", edits(homeless, func(s *scene) { s.home = true }),
		"fails (Transient), NamespaceMissing: namespace shop does not exist",
	},

	// An object of a phase is skipped if its namespace is being deleted.
	{
		"passes over what prepares a deletion where nothing can be created", edits(unrecorded, inPhase, failed(Transient, WaitNamespaceTerminating)),
		"done [record c=true ph=pre-delete]",
	},
	{"does not try again what was passed over", edits(inPhase, absent, passedOver), "done"},
	{
		"tries a dependent again", edits(absent, failed(Transient, WaitNamespaceTerminating)),
		"fails (Transient), NamespaceTerminating: the API server refused it",
	},

	// An object that failed in this pass is left alone until the next.
	{
		"fails as the API server said, without another try in this pass", edits(newManifest, failed(Terminal, "Invalid")),
		"fails (Terminal), Invalid: the API server refused it",
	},
	{
		"keeps the class of a failure that goes away", edits(absent, failed(Transient, "InternalError")),
		"fails (Transient), InternalError: the API server refused it",
	},
	{
		"gives up for this pass against somebody who writes all the time", edits(drifted, attempts(5)),
		"fails (Transient), Contended: it changed 5 times while it was being written",
	},
	{"tries a fifth time", edits(drifted, attempts(4)), "Apply: it drifted (uid u1, version 7) [repair]"},

	// An object waits if the API server does not serve its type.
	{
		"waits for the type, even if a watch says that nothing is there", edits(unrecorded, absent, func(s *scene) { s.object.Scope = manifests.ScopeUnknown }),
		"waits, KindNotServed: Deployment.apps is not served yet, although it is defined here",
	},

	// An object of a type that is not watched is read.
	{"reads what is not watched before it is created", edits(unrecorded, unwatched), "Read: its type cannot be watched"},
	{
		"reads what is not watched, although its manifest changed", edits(newManifest, unwatched),
		"Read: its type cannot be watched",
	},
	{"reads what is not watched in each pass, in any wave", edits(unwatched), "Read: its type cannot be watched [repair]"},
	{
		"does not read again what could not be read", edits(unwatched, failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},

	// An object in an unknown state waits.
	{"does not create what it cannot see", edits(unrecorded, unknown), "waits, ListFailed: no answer"},
	{"does not update what it cannot see", edits(newManifest, unknown), "waits, ListFailed: no answer"},
	{
		"does not wait where the credentials are refused", edits(unauthorized),
		"fails (Terminal), Unauthorized: renew the credentials",
	},
	{
		"takes no presence at all for unknown", edits(newManifest, func(s *scene) { s.live = Observed{Reason: "Observing"} }),
		"waits, Observing: ",
	},

	// An object with the reconcile policy once is not written again.
	{"applies for the first time what is applied once", edits(once, unrecorded, absent), "Create: it is new"},
	{"keeps a once-dependent that drifted", edits(once, drifted), "done"},
	{"keeps a once-dependent whose manifest changed", edits(once, newManifest), "done"},
	{"does not create a once-dependent again", edits(once, absent), "done"},
	{"leaves alone what somebody created in place of a once-dependent", edits(once, recreatedByOthers), "done"},
	{"does not wait for a once-dependent to go", edits(once, terminating), "done"},
	{"keeps a once-dependent where that is the default", edits(onceByDefault, newManifest), "done"},
	{
		"prefers the reconcile policy of the object to the default", edits(onceByDefault, following, newManifest),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{"does not write the new policy to a dependent that is applied once from now on", edits(once, newSettings), "done"},
	{
		"applies a once-dependent neither at its interval nor for the component", edits(following, componentChanged, reapplied(60), once),
		"done",
	},
	{
		"takes a once-dependent with our label for applied, also where a crash kept that from the record", edits(once, neverWritten, newManifest),
		"done [record u=u1 d=d1]",
	},
	{
		"waits for a once-dependent like for any other", edits(once, readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},

	// An object that was purged is complete.
	{"does not create again what was purged", edits(purged), "done"},
	{
		"leaves alone what is being purged", edits(purging, completedEntry, drifted, readiness(ready.Failed, "it failed")),
		"done",
	},
	{"does not look at what was purged", edits(purged, unknown), "done"},
	{"does not create again what was purged for new settings", edits(purged, newSettings), "done"},
	{"does not create again what was purged because it was rendered again", edits(purged, renderedAgain), "done"},
	{"does not create again what was purged because of what is looked up", edits(purged, lookedUpAnew), "done"},
	{
		"creates again what was purged when its manifest changed", edits(purged, newManifest),
		"Create: its manifest changed",
	},
	{"does not create again what was purged because the component changed", edits(purged, componentChanged), "done"},
	{
		"creates again what was purged and follows the component", edits(purged, following, componentChanged),
		"Create: the component changed",
	},
	{
		"does not create a purged once-dependent again", edits(purged, following, componentChanged, newManifest, once),
		"done",
	},
	{
		"creates what is no longer to be purged", edits(purged, newSettings, func(s *scene) { s.object.Settings.PurgeOrder = nil }),
		"Create: its manifest changed",
	},
	{
		"does not create a once-dependent that is no longer to be purged", edits(purged, once, func(s *scene) { s.object.Settings.PurgeOrder = nil }),
		"done",
	},
	{
		"updates what changed while it was being purged", edits(purging, completedEntry, newManifest),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"never purges a definition", edits(purging, completedEntry, drifted, func(s *scene) { s.object.Types = make([]manifests.ManagedType, 1) }),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},

	// An object that completed its work and was removed after that is complete.
	{
		"does not run a Job again that finished and was removed", edits(job, finishedAndGone),
		"done [record u=u1 d=d1 c=true]",
	},
	{"does not run a Job again that is recorded as completed", edits(job, completedEntry, absent), "done"},
	{"does not wait for a completed Job to go", edits(job, completedEntry, terminating), "done"},
	{
		"does not run a completed Job again because it was rendered again", edits(job, completedEntry, absent, renderedAgain),
		"done",
	},
	{
		"does not run a completed Job again because of what is looked up", edits(job, completedEntry, absent, lookedUpAnew),
		"done",
	},
	{
		"leaves a Job alone that is rendered differently because of what is looked up", edits(job, lookedUpAnew),
		"done [record u=u1 d=d1 f=f1 r=1 c=true]",
	},
	{
		"runs a completed Job again when its manifest changed", edits(job, completedEntry, absent, newManifest),
		"Create: its manifest changed",
	},
	{"does not run a completed Job again for new settings", edits(job, completedEntry, absent, newSettings), "done"},
	{
		"runs a completed Job again that follows the component", edits(job, following, completedEntry, absent, componentChanged),
		"Create: the component changed",
	},
	{"runs a Job again that was removed before it finished", edits(job, absent), "Create: somebody deleted it [repair]"},
	{
		"does not take the end of another run for the end of this one", edits(job, newManifest, finishedAndGone),
		"Create: its manifest changed (uid u1, version )",
	},
	{
		"creates again what is no Job, whatever is said of it", edits(finishedAndGone),
		"Create: somebody deleted it (uid u1, version ) [repair]",
	},

	// An absent object is created.
	{"creates what is new", edits(unrecorded, absent), "Create: it is new"},
	{"creates what was recorded, but never written", edits(neverWritten, absent), "Create: it is new"},
	{"creates at once what somebody deleted", edits(absent), "Create: somebody deleted it [repair]"},
	{
		"creates what is gone with its new manifest, in its wave", edits(absent, newManifest),
		"Create: its manifest changed",
	},
	{
		"repairs with a second rendering where nothing is left to keep", edits(absent, renderedAgain),
		"Create: somebody deleted it [repair]",
	},

	// The component waits for an object that is being deleted.
	{
		"waits until a deleted object is gone", edits(terminating),
		"waits, Terminating: it is being deleted; it is created again once it is gone",
	},
	{
		"does not update what is being deleted", edits(terminating, newManifest),
		"waits, Terminating: it is being deleted; it is created again once it is gone",
	},
	{
		"comes back by itself to what others delete, because no watch tells when it is gone", edits(terminating, ownedByOthers),
		"fails (Transient), Terminating: it is being deleted; it is created again once it is gone",
	},

	// An object with another owner is a conflict.
	{
		"does not take what another component owns", edits(unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here, or remove it there",
	},
	{
		"names the owner and its reconciler", edits(unrecorded, ownedBy("c/shop.example.com/fairlead.io/Component/b/them")),
		"fails (Terminal), OwnershipConflict: it is owned by Component.fairlead.io b/them (reconciler shop.example.com); " +
			"rename it here, or remove it there",
	},
	{
		"names the cluster where the component has a namesake", edits(unrecorded, ownedBy("c0ffee/us.example.com/example.com/Shop/a/us")),
		"fails (Terminal), OwnershipConflict: it is owned by Shop.example.com a/us (reconciler us.example.com) " +
			"in the cluster whose namespace kube-system has the UID c0ffee; rename it here, or remove it there",
	},
	{
		"does not propose to rename a definition", edits(definition(Guard{}), unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; leave the definition out here, because only one component can own it " +
			"(for a chart, skipCRDs leaves out the folder crds), or remove it there",
	},
	{
		"does not propose to rename a namespace", edits(namespace(Contents{}), unrecorded, ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; leave it out here, or remove it there",
	},
	{
		"does not take back what another component took over", edits(ownedByOthers),
		"fails (Terminal), OwnershipConflict: it is owned by Component b/them; rename it here, or remove it there",
	},

	// An object of ours without its label is labelled again.
	{
		"labels again what is known by its UID", edits(unowned),
		"Apply: somebody removed its owner label (uid u1, version 7) [repair]",
	},
	{
		"labels again even if it must not adopt", edits(unowned, func(s *scene) { s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever }),
		"Apply: somebody removed its owner label (uid u1, version 7) [repair]",
	},

	// An object without an owner is adopted if the policy permits that.
	{
		"adopts what nobody owns also where it adopts always", edits(always, unrecorded, unowned),
		"Apply: it exists and nobody owns it (uid u1, version 7)",
	},
	{"adopts what nobody owns", edits(unrecorded, unowned), "Apply: it exists and nobody owns it (uid u1, version 7)"},
	{
		"adopts what somebody created in place of ours", edits(unowned, recreatedByOthers),
		"Apply: it exists and nobody owns it (uid u2, version 7) [repair]",
	},
	{
		"adopts by a regular update where that is the policy", edits(replacing, unrecorded, unowned),
		"Replace: it exists and nobody owns it (uid u1, version 7)",
	},
	{
		"adopts in place, also where changes recreate", edits(recreating, unrecorded, unowned),
		"Apply: it exists and nobody owns it (uid u1, version 7)",
	},
	{
		"does not adopt where the policy is never", edits(unrecorded, unowned, func(s *scene) { s.object.Settings.AdoptionPolicy = metav1alpha1.AdoptNever }),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; delete it, rename it " +
			"here, or change the policy",
	},
	{
		"does not adopt where never is the default", edits(unrecorded, unowned, func(s *scene) { s.defaults.Adoption = metav1alpha1.AdoptNever }),
		"fails (Terminal), OwnershipConflict: it exists already, and its adoption policy is never; delete it, rename it " +
			"here, or change the policy",
	},

	// An object whose manifest drops a field that the API server retains is a failure.
	{
		"says that a headless Service stays headless, instead of writing in vain", edits(newManifest, keeps, body("{spec: {ports: []}}")),
		"fails (Terminal), Immutable: the manifest no longer sets spec.clusterIP, but the API server would retain it, because the field cannot change " +
			"(keep its value, set the update policy recreate, or delete the object first)",
	},
	{
		"updates a Service whose address is still named", edits(newManifest, keeps, body("{spec: {clusterIP: None}}")),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"updates a Service that is to have no address", edits(newManifest, keeps, body("{spec: {type: ExternalName}}")),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"recreates a Service with another address", edits(newManifest, keeps, recreating, body("{spec: {ports: []}}")),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"repairs a Service of which nothing was dropped", edits(keeps, drifted, body("{spec: {ports: []}}")),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},

	// An object that was written from another manifest is updated.
	{"updates what changed, in its wave", edits(newManifest), "Apply: its manifest changed (uid u1, version 7)"},
	{
		"updates by a regular update where that is the default", edits(newManifest, replacing),
		"Replace: its manifest changed (uid u1, version 7)",
	},
	{
		"prefers the policy of the object to the default", edits(newManifest, replacing, func(s *scene) { s.object.Settings.UpdatePolicy = metav1alpha1.UpdateSSAMerge }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"deletes what changed where the policy recreates", edits(newManifest, recreating),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a definition", edits(newManifest, recreating, func(s *scene) { s.object.Types = make([]manifests.ManagedType, 1) }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a namespace", edits(newManifest, recreating, func(s *scene) { s.object.Stage = manifests.StageNamespaces }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"never recreates a claim, for it holds data", edits(newManifest, recreating, claim),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"recreates a claim whose manifest says that it may be deleted", edits(newManifest, recreating, deletableClaim),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{"writes new settings", edits(newSettings), "Apply: its settings changed (uid u1, version 7)"},
	{
		"writes new settings in place, also where changes recreate", edits(newSettings, recreating),
		"Apply: its settings changed (uid u1, version 7)",
	},
	{
		"recreates for another content, whatever the settings", edits(recreating, func(s *scene) { s.object.Digest = "d2.s2" }),
		"Delete: its manifest changed (uid u1, version 7)",
	},
	{
		"updates what was applied once when it is to follow its manifest again", edits(newManifest, func(s *scene) { s.live.Digest, s.entry.Digest = "d1.s1", "d1.s1" }),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"repairs at once a digest that somebody changed", edits(func(s *scene) { s.live.Digest = "forged" }),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{"keeps what was applied where the inputs are the same", edits(renderedAgain), "done"},
	{
		"updates what is rendered differently because of what is looked up", edits(lookedUpAnew),
		"Apply: its manifest changed (uid u1, version 7)",
	},
	{
		"does not repair drift with another rendering of the same inputs", edits(renderedAgain, drifted),
		"fails (Terminal), NotDeterministic: it drifted, but is not repaired: its manifest differs at each rendering, for example because of random values; " +
			"make the rendering deterministic, or change the inputs",
	},
	{
		"does not keep what never was applied", edits(renderedAgain, neverWritten, func(s *scene) { s.live.Digest = "" }),
		"Apply: its manifest changed (uid u1, version 7)",
	},

	// An object whose state after the last write was not recorded is compared with its manifest.
	{
		"reads what a crash left unrecorded", edits(neverWritten),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7)",
	},
	{
		"reads what was created again with our label", edits(recreatedByOthers),
		"Read: it is not known whether it drifted since it was applied (uid u2, version 7) [repair]",
	},
	{
		"reads what is recorded without a hash", edits(func(s *scene) { s.entry.Fields = "" }),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7) [repair]",
	},
	{
		"records what was read, if all of it is ours", edits(neverWritten, answered(VerbRead), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"writes what was read, if not all of it is ours", edits(neverWritten, answered(VerbRead), coverage(CoveragePartial)),
		"Apply: it is not known whether it drifted since it was applied (uid u1, version 7)",
	},
	{
		"records fields after a create that covers the manifest", edits(neverWritten, answered(VerbCreate), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"records values after a create that does not", edits(neverWritten, answered(VerbCreate), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records values after an apply that does not cover the manifest", edits(neverWritten, answered(VerbApply), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records values after a replace that does not", edits(replacing, neverWritten, answered(VerbReplace), coverage(CoveragePartial), values("v1")),
		"done [record u=u1 d=d1 v=v1]",
	},
	{
		"records the entry of a regular update where that is the policy", edits(replacing, neverWritten, answered(VerbReplace), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f1]",
	},
	{
		"records what is written, and waits for it", edits(neverWritten, answered(VerbCreate), coverage(CoverageFull), readiness(ready.InProgress, "0 of 1 replicas")),
		"waits, InProgress: 0 of 1 replicas [applied] [record u=u1 d=d1 f=f1]",
	},

	// An object that drifted is repaired.
	{"repairs what somebody changed", edits(drifted), "Apply: it drifted (uid u1, version 7) [repair]"},
	{
		"repairs in place, also where changes recreate", edits(drifted, recreating),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"repairs by a regular update where that is the policy", edits(drifted, replacing),
		"Replace: it drifted (uid u1, version 7) [repair]",
	},
	{
		"looks at the entry of server-side apply under its policies", edits(func(s *scene) { s.live.Updated = "f2" }),
		"done",
	},
	{"looks at the entry of updates under replace", edits(replacing, func(s *scene) { s.live.Applied = "f2" }), "done"},
	{
		"records what a repair left, and does not repeat it", edits(drifted, answered(VerbApply), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f2]",
	},
	{
		"changes to values where a repair is not covered", edits(drifted, answered(VerbApply), coverage(CoveragePartial), values("v2")),
		"done [record u=u1 d=d1 v=v2]",
	},
	{
		"repairs drift that comes after our write in the same pass", edits(drifted, answered(VerbApply)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"repairs what a read confirms to have drifted", edits(drifted, answered(VerbRead), coverage(CoverageFull)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"reads what is compared by value", edits(comparedByValue),
		"Read: it is not known whether it drifted since it was applied (uid u1, version 7) [repair]",
	},
	{"leaves equal values alone, whatever became of the fields", edits(comparedByValue, drifted, values("v1")), "done"},
	{
		"repairs other values", edits(comparedByValue, answered(VerbRead), values("v2"), coverage(CoveragePartial)),
		"Apply: it drifted (uid u1, version 7) [repair]",
	},
	{
		"records the values that the server insists on", edits(comparedByValue, answered(VerbApply), values("v2"), coverage(CoveragePartial)),
		"done [record u=u1 d=d1 v=v2]",
	},

	// An object is applied again when the component changed, if its reconcile policy requires that.
	{"leaves alone what was applied for this state of the component", edits(following), "done"},
	{
		"applies again what follows the component, in its wave", edits(following, componentChanged),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"follows the component where that is the default", edits(following, componentChanged, byDefault),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"does so in place, also where changes recreate", edits(following, componentChanged, recreating),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"does so by a regular update where that is the policy", edits(following, componentChanged, replacing),
		"Replace: the component changed (uid u1, version 7)",
	},
	{"does not follow a component whose state nobody tells", edits(following, func(s *scene) { s.trigger = "" }), "done"},
	{
		"does not repeat a write for the component that changed nothing", edits(following, componentChanged, answered(VerbApply)),
		"done [record u=u1 d=d1 f=f1 g=t2]",
	},
	{
		"records a change of manifest and component together", edits(following, componentChanged, answered(VerbApply), coverage(CoverageFull), func(s *scene) { s.entry.Digest = "d0" }),
		"done [record u=u1 d=d1 f=f1 g=t2]",
	},
	{
		"does not take what a crash left for applied for the component", edits(following, neverWritten, componentChanged, answered(VerbRead), coverage(CoverageFull)),
		"Apply: the component changed (uid u1, version 7)",
	},
	{
		"does not follow the component with another rendering of the same inputs", edits(following, componentChanged, renderedAgain),
		"done",
	},
	{
		"waits for what was applied for the component", edits(following, componentChanged, answered(VerbApply), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d1 f=f1 g=t2]",
	},

	// An object is applied again after its reapply interval.
	{
		"applies again what is due", edits(reapplied(66)),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"does so in place, also where changes recreate", edits(reapplied(66), recreating),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"does so where the interval is the default", edits(reapplied(66), byDefault),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{"leaves alone what is not due", edits(reapplied(59)), "done"},
	{"leaves alone what was due long before anybody looked, for a moment", edits(reapplied(600), startedAgo(0)), "done"},
	{
		"applies again what was due before anybody looked, after that", edits(reapplied(600), startedAgo(6)),
		"Apply: its reapply interval is over (uid u1, version 7) [repair]",
	},
	{
		"prefers no interval to the default", edits(reapplied(66), byDefault, func(s *scene) { s.object.Settings.ReapplyInterval = new(time.Duration(0)) }),
		"done",
	},
	{
		"records when it was applied again", edits(reapplied(66), answered(VerbApply)),
		"done [record u=u1 d=d1 f=f1 a=10000]",
	},
	{
		"records when a repair applied it", edits(reapplied(66), drifted, answered(VerbApply), coverage(CoverageFull)),
		"done [record u=u1 d=d1 f=f2 a=10000]",
	},
	{"does not apply another rendering of the same inputs when it is due", edits(reapplied(66), renderedAgain), "done"},
	{"does not create again what is due and was purged", edits(reapplied(66), purged), "done"},

	// An object that failed is deleted if its manifest requires that, and stays failed.
	{
		"deletes what failed", edits(purgingFailed, readiness(ready.Failed, "no")),
		"Delete: it failed (uid u1, version 7) [record u=u1 d=d1 f=f1 !fd@v0.1=no]",
	},
	{"leaves what failed and holds others", edits(purgingFailed, claim, readiness(ready.Failed, "no")), "fails (Terminal), DependentFailed: no [applied]"},
	{"waits for what may fail", edits(purgingFailed, readiness(ready.InProgress, "it runs")), "waits, InProgress: it runs [applied]"},
	{
		"deletes what failed after a crash", edits(purgedFailed, readiness(ready.Failed, "no")),
		"Delete: it failed (uid u1, version 7)",
	},
	{
		"does not create again what failed", edits(purgedFailed, absent),
		"fails (Terminal), DependentFailed: no; it was deleted, as its manifest says; it is created again when its content changes [applied]",
	},
	{
		"leaves what others created in its place", edits(purgedFailed, recreatedByOthers, unowned),
		"fails (Terminal), DependentFailed: no; it was deleted, as its manifest says; it is created again when its content changes [applied]",
	},
	{"creates again what failed when its content changed", edits(purgedFailed, absent, newManifest), "Create: its manifest changed"},

	// An object with a timeout fails if it is not ready when the timeout ends.
	{
		"waits for what is on its way, until its timeout", edits(timed(59), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},
	{
		"fails for what is not ready at its timeout", edits(timed(60), readiness(ready.InProgress, "it runs")),
		"fails (Terminal), Timeout: not ready within 1m0s: it runs [applied]",
	},
	{"is done with what is ready after its timeout", edits(timed(600)), "done"},
	{
		"records when it was applied, for its timeout", edits(timed(600), newManifest, writtenAs("d2"), answered(VerbApply), coverage(CoverageFull), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d2 f=f1 a=10000]",
	},
	{
		"does not take the time of another manifest for its own", edits(timed(600), newManifest, writtenAs("d2"), coverage(CoverageFull), readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied] [record u=u1 d=d2 f=f1]",
	},

	// The component waits for an object in sync until it is ready.
	{"is done with what is ready", nil, "done"},
	{
		"waits for what is on its way", edits(readiness(ready.InProgress, "0 of 1 replicas")),
		"waits, InProgress: 0 of 1 replicas [applied]",
	},
	{
		"waits for what cannot be understood", edits(readiness(ready.Unknown, "no conditions")),
		"waits, Unknown: no conditions [applied]",
	},
	{
		"fails with what failed", edits(readiness(ready.Failed, "deadline exceeded")),
		"fails (Terminal), DependentFailed: deadline exceeded [applied]",
	},
	{"notes of a Job that is ready that it may go", edits(job), "done [record u=u1 d=d1 f=f1 c=true]"},
	{"notes that once", edits(job, completedEntry), "done"},
	{
		"notes nothing of a Job that runs", edits(job, readiness(ready.InProgress, "it runs")),
		"waits, InProgress: it runs [applied]",
	},
}

func TestApplyRules(t *testing.T) {
	for _, r := range applyRows {
		t.Run(r.name, func(t *testing.T) {
			if got := decide(applyRules, newScene(r.scene).candidate()).text(); got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
}

// deleteRows has at least one row for each of the deleteRules.
var deleteRows = []row{
	// An object that failed in this pass is left alone until the next.
	{
		"fails as the API server said", edits(failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},
	{
		"gives up for this pass against somebody who writes all the time", edits(attempts(5)),
		"fails (Transient), Contended: it changed 5 times while it was being deleted",
	},
	{"tries a fifth time", edits(attempts(4)), "Delete: it is no longer rendered (uid u1, version 7)"},

	// The entry of an object that is confirmed to be gone is dropped.
	{"forgets what is confirmed gone", edits(confirmedAbsent), "done"},

	{"forgets what was purged, without a look at it", edits(purged), "done"},
	{"reads what was being purged", edits(purging, completedEntry, absent), "Read: its absence must be confirmed"},
	{
		"deletes what came back in place of what was purged, with our label", edits(purged, func(s *scene) { s.live = newScene(nil).live }),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// The entry of an object that is not ours any more is dropped, and the object is not changed.
	{"forgets what another component owns by now", edits(ownedByOthers), "done"},
	{"forgets another object of the same name", edits(unowned, recreatedByOthers), "done"},
	{"forgets what is unlabelled and was never written by us", edits(neverWritten, unowned), "done"},
	{"forgets what is not ours, even while it is being deleted", edits(ownedByOthers, terminating), "done"},

	// An object that a watch does not show is read.
	{"confirms by a read that an object is gone", edits(absent), "Read: its absence must be confirmed"},
	{"confirms it for what was never written, too", edits(neverWritten, absent), "Read: its absence must be confirmed"},

	// An object of a type that is not served is read.
	{"asks what became of a type that is not served", edits(notServed), "Read: its absence must be confirmed"},

	// The entry of an object of a type without stored objects is dropped.
	{"forgets what never was an object", edits(neverWritten, notListable), "done"},
	{"does not forget what was one", edits(notListable), "waits, NotListable: its type cannot be listed"},

	// An object of a type that is not watched is read.
	{"reads what is not watched before it is deleted", edits(unwatched), "Read: its type cannot be watched"},

	// An object fails if the API server refuses the credentials.
	{
		"does not wait where the credentials are refused", edits(unauthorized),
		"fails (Terminal), Unauthorized: renew the credentials",
	},

	// An object in an unknown state waits.
	{"waits where nothing is known", edits(unknown), "waits, ListFailed: no answer"},
	{
		"takes no presence at all for unknown", edits(func(s *scene) { s.live = Observed{Reason: "Observing"} }),
		"waits, Observing: ",
	},

	// An object is orphaned if its delete policy requires that. The entry of an orphaned object is dropped.
	{
		"releases a claim", edits(claim),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"releases a claim that somebody is deleting, and waits for nobody", edits(claim, terminating),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{"forgets a claim that was released", edits(claim, unowned, answered(VerbOrphan)), "done"},
	{"forgets a claim whose release a crash kept from being recorded", edits(claim, orphaned), "done"},
	{
		"takes the other marks off a claim that lost its label alone", edits(claim, unowned),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"releases what its policy releases", edits(recordedPolicy("orphan")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"releases it also with its component", edits(recordedPolicy("orphan"), withComponent),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"releases what its policy releases when it is pruned", edits(recordedPolicy("orphan-on-apply")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"deletes that with its component", edits(recordedPolicy("orphan-on-apply"), withComponent),
		"Delete: the component is being deleted (uid u1, version 7)",
	},
	{
		"deletes when it is pruned what its policy releases with its component", edits(recordedPolicy("orphan-on-delete")),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"releases that with its component", edits(recordedPolicy("orphan-on-delete"), withComponent),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"deletes what is purged, whatever becomes of it when it is no longer wanted", edits(recordedPolicy("orphan"), func(s *scene) { s.reason = ReasonPurged }),
		"Delete: " + string(ReasonPurged) + " (uid u1, version 7)",
	},
	{
		"releases a claim that is purged", edits(claim, func(s *scene) { s.reason = ReasonPurged }),
		"Orphan: a claim is deleted only if its delete policy is delete (uid u1, version 7)",
	},
	{
		"deletes nothing by a policy that it does not know", edits(recordedPolicy("bury")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{
		"goes by the policy that was recorded, not by what the manifest says now",
		edits(recordedPolicy("orphan"), func(s *scene) { s.object.Settings.DeletePolicy, s.defaults.Delete = "delete", "delete" }),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{"forgets an orphan", edits(recordedPolicy("orphan"), orphaned, answered(VerbOrphan)), "done"},
	{
		"releases a namespace, whatever it holds", edits(namespace(Contents{Count: 1}), recordedPolicy("orphan")),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},
	{"does not release what somebody else owns", edits(claim, ownedByOthers), "done"},
	{"reads a claim that the watch does not show", edits(claim, absent), "Read: its absence must be confirmed"},
	{
		"says why a claim cannot be released", edits(claim, failed(Terminal, "Forbidden")),
		"fails (Terminal), Forbidden: the API server refused it",
	},
	{
		"deletes a claim whose manifest says so", edits(deletableClaim),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes a claim whose manifest says so, and that lost its label", edits(deletableClaim, unowned),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// A namespace is not deleted while it holds objects that would be deleted only with it.
	{
		"keeps a namespace that holds objects of others", edits(namespace(Contents{Count: 12, Names: []string{"ConfigMap shop/a", "Secret shop/b"}})),
		"fails (Terminal), NamespaceNotEmpty: the namespace contains objects that would be deleted with it (12): ConfigMap shop/a, Secret shop/b and more; " +
			"delete or move these objects",
	},
	{
		"keeps a namespace whose contents are not known", edits(namespace(Contents{Failure: &Failure{Class: Transient, Reason: "Unreachable", Message: "no answer"}})),
		"fails (Transient), Unreachable: no answer",
	},
	{
		"deletes a namespace that holds nothing", edits(namespace(Contents{})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"waits for a namespace that somebody else deletes, whatever it holds", edits(namespace(Contents{Count: 1}), terminating),
		"waits, NotGone: it is being deleted; finalizers or pods may hold it",
	},
	{
		"looks at the contents of namespaces only", edits(func(s *scene) { s.contents.Count = 1 }),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},

	// The component waits for an object that is being deleted.
	{
		"waits until a deleted object is gone", edits(terminating),
		"waits, NotGone: it is being deleted; finalizers or pods may hold it",
	},

	{
		"comes back by itself to what lost its label, because no watch tells when it is gone", edits(terminating, unowned),
		"fails (Transient), NotGone: it is being deleted; finalizers or pods may hold it",
	},

	// A definition is not deleted before a guard is in effect.
	{"does not delete a definition without a guard", edits(definition(Guard{})), "waits for a guard"},
	{
		"does not delete a definition while the guard does not hold", edits(definition(Guard{Definitions: widgetNames})),
		"waits for a guard",
	},
	{
		"does not delete a definition as soon as the guard holds: what was admitted before is not written yet",
		edits(definition(Guard{Definitions: widgetNames, EffectiveSince: sceneTime.Add(-guardSettleTime / 2)})), "waits for a guard",
	},
	{
		"does not delete a definition that the guard is not for",
		edits(definition(Guard{Definitions: []string{"gadgets.example.com"}, EffectiveSince: sceneTime.Add(-guardSettleTime)})), "waits for a guard",
	},
	{
		"deletes a definition under a guard that has held for a moment", edits(definition(Guard{Definitions: widgetNames, EffectiveSince: sceneTime.Add(-guardSettleTime)})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes a definition without a guard where there can be none", edits(definition(Guard{Unavailable: true})),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"needs no guard for a definition that somebody else deletes", edits(definition(Guard{}), terminating),
		"waits, NotGone: it is being deleted; finalizers or pods may hold it",
	},
	{
		"needs no guard for a definition that is released", edits(definition(Guard{}), func(s *scene) { s.entry.DeletePolicy = metav1alpha1.DeleteOrphan }),
		"Orphan: its delete policy orphans it (uid u1, version 7)",
	},

	// An object of ours is deleted.
	{"deletes what is ours", nil, "Delete: it is no longer rendered (uid u1, version 7)"},
	{
		"deletes what lost its label, known by its UID", edits(unowned),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes what carries our label, although its UID was not recorded", edits(neverWritten),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
	{
		"deletes what was created again with our label", edits(recreatedByOthers),
		"Delete: it is no longer rendered (uid u2, version 7)",
	},
	{
		"deletes what drifted or failed all the same", edits(drifted, readiness(ready.Failed, "")),
		"Delete: it is no longer rendered (uid u1, version 7)",
	},
}

func TestDeleteRules(t *testing.T) {
	for _, r := range deleteRows {
		t.Run(r.name, func(t *testing.T) {
			if got := decide(deleteRules, newScene(r.scene).removal()).text(); got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
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
		noticed := slices.ContainsFunc(rows, func(r row) bool { return decide(rest, subject(newScene(r.scene))).text() != r.want })
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
