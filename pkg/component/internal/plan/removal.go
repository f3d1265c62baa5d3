package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// removal is a recorded object that is to be deleted or orphaned, with the facts about it.
type removal struct {
	owner  string
	reason Reason
	entry  metav1alpha1.InventoryEntry
	key    manifests.Key
	// wave is the delete order, or the purge order.
	wave   int
	live   Observed
	result Result
	// contents are the objects in the namespace, if the object to be removed is a namespace. Its keys are those that may
	// be named.
	contents Contents
	// protected is set if the object may be deleted even if it is a definition: an admission guard refuses new
	// instances of its type, or a guard cannot be set up.
	protected bool
	// tried is set if a dry run of the deletion has succeeded: in this pass, or before the guard was set up.
	tried bool
	// needed is set if the component needs the object itself, so that it is released instead of deleted.
	needed bool
	// kept says why a namespace that was created for the component is released instead of deleted; empty otherwise.
	kept string
	// attempts is the maximum number of actions on the object in a pass.
	attempts int
}

func newRemoval(f Facts, e metav1alpha1.InventoryEntry, reason Reason) removal {
	key := KeyOf(e)
	if _, excluded := f.Excluded[key]; excluded && reason == ReasonPruned {
		reason = ReasonExcluded
	}
	r := removal{
		owner: f.Owner, reason: reason, entry: e, key: key, wave: e.EffectiveDeleteOrder(),
		live: f.LiveOf(key), result: f.Results[key], protected: f.Guard.protects(key.Name, f.Now),
		attempts: maxAttempts,
	}
	r.needed = Orphans(metav1alpha1.InventoryEntry{DeletePolicy: f.Needs.policy(key, "")}, reason)
	r.tried = r.result.Verb == VerbTryDelete || slices.Contains(f.Guard.Definitions, key.Name)
	if IsNamespace(key) {
		r.contents = f.Contents[key.Name]
		r.contents.Keys = f.Names.of(r.contents.Keys)
	}
	if IsOwnedNamespace(e) {
		return r.ofOwnedNamespace(f)
	}
	return r
}

// deleteRules decide about removals. The inventory entry of an object is dropped only after the object is confirmed not
// to exist, or not to be ours.
var deleteRules = []rule[removal]{
	{"an object that failed in this pass is not tried again before the next pass", deleteFailed},
	{"the entry of an object that is confirmed not to exist is dropped", deleteConfirmedAbsent},
	{"the entry of an object that is not ours any more is dropped, and the object is not changed", deleteNotOurs},
	{"an object that a watch does not show is read", deleteAbsent},
	{"an object of a type that is not served is read", deleteNotServed},
	{"the entry of an object of a type without stored objects is dropped", deleteNotListable},
	{"an object of a type that is not watched is read", deleteUnwatched},
	{"an object fails if the API server refuses the credentials", deleteUnauthorized},
	{"an object in an unknown state waits", deleteUnknown},
	{"the entry of an orphaned object is dropped", deleteOrphaned},
	{"an object is orphaned if its delete policy requires that", deleteOrphan},
	{"an object that is being deleted is read if no watch shows its condition gone-when", deleteGoneUnread},
	{"the component waits for an object that is being deleted", deleteTerminating},
	{"a namespace is not deleted while it holds objects that would be deleted only with it", deleteNotEmpty},
	{"a guard is set up for a definition only after a dry run of its deletion", deleteUntried},
	{"a definition is not deleted before a guard is in effect", deleteUnprotected},
	{"our object is deleted", deletePresent},
}

// remove adds the decision about a removal to the plan. passed reports whether the objects that wait for this removal
// go on. unprotected reports whether the removal is a definition that needs a guard first.
func (p *Plan) remove(r removal) (passed, unprotected bool) {
	d := decide(deleteRules, r)
	switch {
	case d.guard:
		return false, true
	case d.action != nil:
		p.Actions = append(p.Actions, *d.action)
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
		return r.countsAsDeleted(d), false
	default:
		p.Inventory.drop(r.entry)
		return true, false
	}
	return false, false
}

// countsAsDeleted reports whether the objects that wait for a removal go on, although the object is only being deleted.
// Definitions and namespaces wait for all objects nevertheless; see removeSteps.
func (r removal) countsAsDeleted(d decision) bool {
	return r.live.Terminating && r.live.Gone == GoneHolds && d.waiting != nil && d.waiting.Failure == nil
}

func deleteFailed(r removal) (decision, bool) {
	if f := r.result.Failure; f != nil {
		return r.wait(f.Reason, f.Message, f), true
	}
	if r.result.Attempts >= r.attempts {
		message := fmt.Sprintf("it changed %d times while it was being deleted", r.result.Attempts)
		failure := &Failure{Class: Transient, Reason: WaitChangedMeanwhile, Message: message}
		return r.wait(failure.Reason, message, failure), true
	}
	return decision{}, false
}

func deleteConfirmedAbsent(r removal) (decision, bool) { return decision{}, r.isAbsent() }

func deleteNotOurs(r removal) (decision, bool) { return decision{}, r.notOurs() }

func deleteAbsent(r removal) (decision, bool) {
	return r.act(VerbRead, ReasonConfirm), r.live.Presence == Absent
}

// deleteNotServed reads an object whose type is not served: if no definition of the type exists, the object does not
// exist either.
func deleteNotServed(r removal) (decision, bool) {
	return r.act(VerbRead, ReasonNotServed), r.live.Presence == Unknown && r.live.Reason == WaitNotServed
}

// deleteNotListable drops the entry of an object that the API server never stored. For example, the API server responds
// to a SubjectAccessReview, but does not store it.
func deleteNotListable(r removal) (decision, bool) {
	return decision{}, r.live.Presence == Unknown && r.live.Reason == WaitNotListable && r.entry.UID == ""
}

// deleteUnwatched reads an object that no watch shows, once in each pass.
func deleteUnwatched(r removal) (decision, bool) {
	return r.act(VerbRead, ReasonUnwatched), r.live.unwatched()
}

func deleteUnauthorized(r removal) (decision, bool) {
	failure := Failure{Class: Terminal, Reason: r.live.Reason, Message: r.live.Message}
	refused := r.live.Presence == Unknown && r.live.Reason == WaitUnauthorized
	return r.wait(failure.Reason, failure.Message, &failure), refused
}

func deleteUnknown(r removal) (decision, bool) {
	return r.wait(r.live.Reason, r.live.Message, r.live.Failure), r.live.Presence != Present
}

// deleteOrphaned drops the entry of an object that has been orphaned: by an action of this pass, by an earlier action
// whose result was not written because of a crash, or by another client that removed all our labels, annotations and
// managed fields.
func deleteOrphaned(r removal) (decision, bool) {
	orphaned := r.live.orphaned() || r.result.Verb == VerbOrphan && r.live.Owner == ""
	return decision{}, r.orphans() && orphaned
}

func deleteOrphan(r removal) (decision, bool) {
	reason := ReasonOrphaned
	switch {
	case r.needed && isHeld(r.key):
		reason = ReasonInUse
	case r.needed:
		reason = ReasonNeeded
	case r.kept != "":
		reason = ReasonNamespaceKept
	case IsClaim(r.key):
		reason = ReasonClaimOrphaned
	case isPermanent(r.key):
		reason = ReasonPermanent
	case r.live.notDeletable():
		reason = ReasonNotDeletable
	}
	d := r.act(VerbOrphan, reason)
	d.action.Note = r.kept
	return d, r.orphans()
}

// orphans reports whether the object is released instead of deleted.
func (r removal) orphans() bool {
	return r.needed || r.kept != "" || Orphans(r.entry, r.reason) || r.live.notDeletable()
}

// deleteGoneUnread reads an object with the condition gone-when: once after each change.
func deleteGoneUnread(r removal) (decision, bool) {
	return r.act(VerbRead, ReasonGoneUnread), r.live.Terminating && r.live.Gone == GoneUnread
}

func deleteTerminating(r removal) (decision, bool) {
	message := whyTerminating(r.live)
	if r.key.IsExternal() {
		message = "it is being deleted outside Kubernetes"
	}
	if r.live.Gone != GoneUnset {
		message += "; " + r.live.Readiness.Message
	}
	if r.live.Terminating && r.live.Owner != r.owner {
		// The object does not have our label, so our watches do not show when the object was deleted. A transient failure
		// makes later passes read the object.
		return r.wait(WaitNotGone, message, &Failure{Class: Transient, Reason: WaitNotGone, Message: message}), true
	}
	d := r.wait(WaitNotGone, message, nil)
	if !r.key.IsExternal() {
		d.waiting.UID, d.waiting.Generation = r.live.UID, r.live.Generation
	}
	return d, r.live.Terminating
}

func deleteNotEmpty(r removal) (decision, bool) {
	failure := r.contents.Failure
	if r.contents.Count > 0 {
		failure = &Failure{
			Class: Terminal, Reason: WaitNotEmpty,
			Message: fmt.Sprintf(
				"the namespace contains objects that would be deleted with it%s; it is kept until they are deleted; to keep "+
					"it and them, %s; what you delete in it is lost", counted(r.contents), keeping(r.reason),
			),
		}
	}
	if failure == nil {
		return decision{}, false
	}
	return r.wait(failure.Reason, failure.Message, failure), true
}

// counted returns a text with the number of the objects of a namespace, and those of them that may be named.
func counted(c Contents) string {
	number := fmt.Sprintf(" (%d)", c.Count)
	if len(c.Keys) == 0 {
		return number + ", which the identity of the component may not get"
	}
	names := make([]string, 0, len(c.Keys))
	for _, key := range c.Keys {
		names = append(names, key.String())
	}
	text := number + ": " + strings.Join(names, ", ")
	if c.Count > len(names) {
		text += " and more"
	}
	return text
}

// keeping returns advice on how to keep an object that is to be removed for a reason.
func keeping(reason Reason) string {
	if reason == ReasonDeleted {
		return "set the delete policy orphan (spec.deletePolicy, if its type has it) and wait until it is reconciled, " +
			"before you delete the component; in a deletion that runs, remove the operator's finalizer from the " +
			"component: dependents that are not deleted yet stay"
	}
	return "render it again, or first with the delete policy orphan"
}

// deleteUntried tries the deletion of a definition as the identity of the component. A guard for a definition that the
// identity may not delete would refuse new instances although the definition stays.
func deleteUntried(r removal) (decision, bool) {
	return r.act(VerbTryDelete, ReasonTryDelete), r.needsGuard() && !r.tried
}

func deleteUnprotected(r removal) (decision, bool) { return decision{guard: true}, r.needsGuard() }

func deletePresent(r removal) (decision, bool) { return r.act(VerbDelete, r.reason), true }

// isAbsent reports whether the recorded object is confirmed not to exist. The absence of a completed object without a
// UID was confirmed when it was purged.
func (r removal) isAbsent() bool {
	return r.live.Presence == Absent && (r.live.Confirmed || r.entry.Completed && r.entry.UID == "")
}

// needsGuard reports whether the object is a definition that must not be deleted before a guard is in effect. The guard
// affects all users of the type, and the inventory can be edited. So the live definition must have our owner label, and
// the recorded UID if a UID is recorded. A definition without them is deleted without a guard, or not at all; see
// notOurs.
func (r removal) needsGuard() bool {
	verified := r.live.Owner == r.owner && (r.entry.UID == "" || r.entry.UID == r.live.UID)
	return IsDefinition(r.key) && verified && !r.protected
}

// refused reports whether an action on a guarded definition failed, so that the definition is not deleted now.
func (r removal) refused() bool {
	return IsDefinition(r.key) && r.entry.Guarded && r.result.Failure != nil
}

// notOurs reports whether the live object is not ours any more: it is another object with the same name, or it has
// another owner. An object without an owner must have the recorded UID, and one of our annotations or managed fields.
// The UID alone is not sufficient, because users who can edit the inventory can enter the UID of any object. A namespace
// that was created for the component must have our label, so that whoever removes the label keeps the namespace.
func (r removal) notOurs() bool {
	switch {
	case r.live.Presence != Present:
		return false
	case r.live.Owner != "" || IsOwnedNamespace(r.entry):
		return r.live.Owner != r.owner
	}
	return r.entry.UID == "" || r.entry.UID != r.live.UID || r.live.orphaned()
}

func (r removal) wait(reason WaitReason, message string, failure *Failure) decision {
	return decision{waiting: &Waiting{
		Key: r.key, Wave: r.wave, Reason: reason, Message: message, Failure: failure,
	}}
}

func (r removal) act(verb Verb, reason Reason) decision {
	uid := r.live.UID
	if reason == ReasonConfirm {
		uid = cmp.Or(uid, r.entry.UID) // A read that returns the recorded object is older than its deletion.
	}
	return decision{action: &Action{
		Verb: verb, Key: r.key, Reason: reason, Wave: r.wave, Version: r.entry.Version, Owner: r.owner,
		Preconditions: Preconditions{
			UID: uid, ResourceVersion: r.live.ResourceVersion, Owner: r.owner,
			Exact: verb == VerbDelete || verb == VerbTryDelete,
		},
	}}
}
