package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// removal is a recorded object that is to go, with what is known of it.
type removal struct {
	owner  string
	reason Reason
	entry  metav1alpha1.InventoryEntry
	key    manifests.Key
	// wave is that of the deletion, or the purge order.
	wave   int
	live   Observed
	result Result
	// contents are those of a namespace.
	contents Contents
	// protected says of a definition that a guard keeps new instances from being lost with it.
	protected bool
}

func newRemoval(f Facts, e metav1alpha1.InventoryEntry, reason Reason) removal {
	key := KeyOf(e)
	v := removal{owner: f.Owner, reason: reason, entry: e, key: key, wave: e.EffectiveDeleteOrder(), live: f.Live.Of(key), result: f.Results[key]}
	v.protected = f.Guard.protects(key.Name, f.Now)
	if IsNamespace(key) {
		v.contents = f.Contents[key.Name]
	}
	return v
}

// deleteRules decide on recorded objects that are to go. An entry is forgotten only when the object is confirmed gone, or is not ours.
var deleteRules = []rule[removal]{
	{"an object that failed in this pass is left alone until the next", deleteFailed},
	{"an object that is confirmed gone is forgotten", deleteGone},
	{"an object that is not ours any more is forgotten and not touched", deleteNotOurs},
	{"an object that a watch does not show is read", deleteAbsent},
	{"an object of a type that nobody serves is read", deleteNotServed},
	{"an object of a type that keeps no objects is forgotten", deleteNotListable},
	{"an object of a type that is not watched is read", deleteUnwatched},
	{"an object of a type whose API server refuses us fails", deleteUnauthorized},
	{"an object of which nothing is known waits", deleteUnknown},
	{"an object that is kept is forgotten once it is released", deleteOrphaned},
	{"an object that is kept is released", deleteOrphan},
	{"an object that is being deleted is waited for", deleteTerminating},
	{"a namespace stays while it holds what nothing else deletes", deleteNotEmpty},
	{"a definition is not deleted before a guard holds", deleteUnprotected},
	{"an object of ours is deleted", deletePresent},
}

// remove enters into the plan what becomes of a removal, or returns that it is not deleted before a guard holds.
func (p *Plan) remove(v removal) (unprotected bool) {
	d := decide(deleteRules, v)
	switch {
	case d.guard:
		return true
	case d.action != nil:
		p.Actions = append(p.Actions, *d.action)
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
	default:
		p.forgetEntry(v.entry)
	}
	return false
}

func deleteFailed(v removal) (decision, bool) {
	if f := v.result.Failure; f != nil {
		return v.wait(f.Reason, f.Message, f), true
	}
	if v.result.Attempts >= maxAttempts {
		message := fmt.Sprintf("it changed %d times while it was being deleted", v.result.Attempts)
		return v.wait(WaitContended, message, &Failure{Class: Transient, Reason: WaitContended, Message: message}), true
	}
	return decision{}, false
}

func deleteGone(v removal) (decision, bool) { return decision{}, v.gone() }

func deleteNotOurs(v removal) (decision, bool) { return decision{}, v.notOurs() }

func deleteAbsent(v removal) (decision, bool) {
	return v.act(VerbRead, ReasonConfirm), v.live.Presence == Absent
}

// deleteNotServed asks whether the type is gone for good: then its objects are.
func deleteNotServed(v removal) (decision, bool) {
	return v.act(VerbRead, ReasonConfirm), v.live.Presence == Unknown && v.live.Reason == WaitNotServed
}

// deleteNotListable forgets what was never an object: the API server answers a review, say, and stores nothing.
func deleteNotListable(v removal) (decision, bool) {
	return decision{}, v.live.Presence == Unknown && v.live.Reason == WaitNotListable && v.entry.UID == ""
}

// deleteUnwatched asks for what no watch tells, in each pass.
func deleteUnwatched(v removal) (decision, bool) {
	return v.act(VerbRead, ReasonUnwatched), v.live.unwatched()
}

func deleteUnauthorized(v removal) (decision, bool) {
	failure := Failure{Class: Terminal, Reason: v.live.Reason, Message: v.live.Message}
	return v.wait(failure.Reason, failure.Message, &failure), v.live.Presence == Unknown && v.live.Reason == WaitUnauthorized
}

func deleteUnknown(v removal) (decision, bool) {
	return v.wait(v.live.Reason, v.live.Message, nil), v.live.Presence != Present
}

// deleteOrphaned follows a release, also one that a crash kept from being recorded, or that somebody else made.
func deleteOrphaned(v removal) (decision, bool) {
	return decision{}, Orphans(v.entry, v.reason) && (v.live.orphaned() || v.result.Verb == VerbOrphan && v.live.Owner == "")
}

func deleteOrphan(v removal) (decision, bool) {
	reason := ReasonOrphaned
	if IsClaim(v.key) {
		reason = ReasonClaimOrphaned
	}
	return v.act(VerbOrphan, reason), Orphans(v.entry, v.reason)
}

func deleteTerminating(v removal) (decision, bool) {
	const message = "it is being deleted; finalizers or pods may hold it"
	if v.live.Terminating && v.live.Owner != v.owner {
		// Somebody removed its label: no watch of ours tells when it is gone.
		return v.wait(WaitNotGone, message, &Failure{Class: Transient, Reason: WaitNotGone, Message: message}), true
	}
	return v.wait(WaitNotGone, message, nil), v.live.Terminating
}

func deleteNotEmpty(v removal) (decision, bool) {
	failure := v.contents.Failure
	if n := v.contents.Count; n > 0 {
		names := strings.Join(v.contents.Names, ", ")
		if n > len(v.contents.Names) {
			names += " and more"
		}
		failure = &Failure{
			Class: Terminal, Reason: WaitNotEmpty,
			Message: fmt.Sprintf("objects would go with it that nothing else deletes (%d): %s; delete them, or move them elsewhere", n, names),
		}
	}
	if failure == nil {
		return decision{}, false
	}
	return v.wait(failure.Reason, failure.Message, failure), true
}

func deleteUnprotected(v removal) (decision, bool) {
	return decision{guard: true}, IsDefinition(v.key) && !v.protected
}

func deletePresent(v removal) (decision, bool) { return v.act(VerbDelete, v.reason), true }

// gone says that it is confirmed that the object, or the one that was recorded, does not exist. Of a completed one without a UID that was
// confirmed when it was purged.
func (v removal) gone() bool {
	return v.live.Presence == Absent && (v.live.Confirmed || v.entry.Completed && v.entry.UID == "")
}

// lost says that the object is not ours any more: another one of its name, or one that somebody else owns by now.
func (v removal) notOurs() bool {
	if v.live.Presence != Present {
		return false
	}
	if v.live.Owner != "" {
		return v.live.Owner != v.owner
	}
	return v.entry.UID == "" || v.entry.UID != v.live.UID
}

func (v removal) wait(reason WaitReason, message string, failure *Failure) decision {
	return decision{waiting: &Waiting{
		Key: v.key, Wave: v.wave, Reason: reason, Message: message, Failure: failure,
	}}
}

func (v removal) act(verb Verb, reason Reason) decision {
	return decision{action: &Action{
		Verb: verb, Key: v.key, Reason: reason, Wave: v.wave, Version: v.entry.Version,
		Owner: v.owner, Preconditions: Preconditions{
			UID: v.live.UID, ResourceVersion: v.live.ResourceVersion, Owner: v.owner, Exact: verb == VerbDelete,
		},
	}}
}

// RecordedDeletePolicy is what the record says of an object whose manifest has a policy of its own, or none; fallback holds where it has
// none. A claim holds data, and is deleted only where its own manifest says so. Empty means delete, which is what most objects are.
func RecordedDeletePolicy(key manifests.Key, own, fallback metav1alpha1.DeletePolicy) metav1alpha1.DeletePolicy {
	if IsClaim(key) {
		if own == metav1alpha1.DeleteDelete {
			return own
		}
		return metav1alpha1.DeleteOrphan
	}
	if own == "" {
		own = fallback
	}
	if own == metav1alpha1.DeleteDelete {
		return ""
	}
	return own
}

// Orphans says of a recorded object that it is released where others are deleted, for that reason: the policy that was recorded last
// counts, not what the manifest, or a default, would say now. A policy that this version does not know never deletes. What is purged is
// still wanted, and deleted because its purge order says so; only a claim needs more than that.
func Orphans(e metav1alpha1.InventoryEntry, reason Reason) bool {
	switch {
	case IsClaim(KeyOf(e)):
		return e.DeletePolicy != metav1alpha1.DeleteDelete
	case reason == ReasonPurged:
		return false
	}
	switch e.DeletePolicy {
	case "", metav1alpha1.DeleteDelete:
		return false
	case metav1alpha1.DeleteOrphanOnApply:
		return reason == ReasonPruned
	case metav1alpha1.DeleteOrphanOnDelete:
		return reason == ReasonDeleted
	case metav1alpha1.DeleteOrphan:
	}
	return true
}

// IsClaim says that an object claims a volume.
func IsClaim(key manifests.Key) bool {
	return key.GroupKind() == schema.GroupKind{Kind: "PersistentVolumeClaim"}
}

// released says that nothing on the object tells of us any more: somebody may have removed the label alone.
func (o Observed) orphaned() bool {
	return o.Owner == "" && o.Digest == "" && o.Applied == "" && o.Updated == ""
}
