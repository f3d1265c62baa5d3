package plan

import (
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// victim is a recorded object that is to go, with what is known of it.
type victim struct {
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

func newVictim(f Facts, e metav1alpha1.InventoryEntry, reason Reason) victim {
	key := KeyOf(e)
	v := victim{owner: f.Owner, reason: reason, entry: e, key: key, wave: e.EffectiveDeleteOrder(), live: f.Live.Of(key), result: f.Results[key]}
	v.protected = f.Guard.protects(key.Name, f.Now)
	if IsNamespace(key) {
		v.contents = f.Contents[key.Name]
	}
	return v
}

// deleteRules decide on recorded objects that are to go. An entry is forgotten only when the object is confirmed gone, or is not ours.
var deleteRules = []rule[victim]{
	{"an object that failed in this pass is left alone until the next", deleteFailed},
	{"an object that is confirmed gone is forgotten", deleteGone},
	{"an object that is not ours any more is forgotten and not touched", deleteLost},
	{"an object that a watch does not show is read", deleteAbsent},
	{"an object of a type that nobody serves is read", deleteNotServed},
	{"an object of a type that keeps no objects is forgotten", deleteNotListable},
	{"an object of a type that is not watched is read", deleteUnwatched},
	{"an object of a type whose API server refuses us fails", deleteUnauthorized},
	{"an object of which nothing is known waits", deleteUnknown},
	{"an object that is kept is forgotten once it is released", deleteReleased},
	{"an object that is kept is released", deleteKept},
	{"an object that is being deleted is waited for", deleteTerminating},
	{"a namespace stays while it holds what nothing else deletes", deleteNotEmpty},
	{"a definition is not deleted before a guard holds", deleteUnprotected},
	{"an object of ours is deleted", deletePresent},
}

// remove enters into the plan what becomes of a victim, or returns that it is not deleted before a guard holds.
func (p *Plan) remove(v victim) (unprotected bool) {
	d := decide(deleteRules, v)
	switch {
	case d.guard:
		return true
	case d.action != nil:
		p.Actions = append(p.Actions, *d.action)
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
	default:
		p.forget(v.entry)
	}
	return false
}

func deleteFailed(v victim) (decision, bool) {
	if f := v.result.Failure; f != nil {
		return v.wait(f.Reason, f.Message, f), true
	}
	if v.result.Attempts >= maxAttempts {
		message := fmt.Sprintf("it changed %d times while it was being deleted", v.result.Attempts)
		return v.wait(WaitContended, message, &Failure{Class: Transient, Reason: WaitContended, Message: message}), true
	}
	return decision{}, false
}

func deleteGone(v victim) (decision, bool) { return decision{}, v.gone() }

func deleteLost(v victim) (decision, bool) { return decision{}, v.lost() }

func deleteAbsent(v victim) (decision, bool) {
	return v.act(VerbRead, ReasonConfirm), v.live.Presence == Absent
}

// deleteNotServed asks whether the type is gone for good: then its objects are.
func deleteNotServed(v victim) (decision, bool) {
	return v.act(VerbRead, ReasonConfirm), v.live.Presence == Unknown && v.live.Reason == WaitNotServed
}

// deleteNotListable forgets what was never an object: the API server answers a review, say, and stores nothing.
func deleteNotListable(v victim) (decision, bool) {
	return decision{}, v.live.Presence == Unknown && v.live.Reason == WaitNotListable && v.entry.UID == ""
}

// deleteUnwatched asks for what no watch tells, in each pass.
func deleteUnwatched(v victim) (decision, bool) {
	return v.act(VerbRead, ReasonUnwatched), v.live.unwatched()
}

func deleteUnauthorized(v victim) (decision, bool) {
	failure := Failure{Class: Terminal, Reason: v.live.Reason, Message: v.live.Message}
	return v.wait(failure.Reason, failure.Message, &failure), v.live.Presence == Unknown && v.live.Reason == WaitUnauthorized
}

func deleteUnknown(v victim) (decision, bool) {
	return v.wait(v.live.Reason, v.live.Message, nil), v.live.Presence != Present
}

// deleteReleased follows a release, also one that a crash kept from being recorded, or that somebody else made.
func deleteReleased(v victim) (decision, bool) {
	return decision{}, Releases(v.entry, v.reason) && (v.live.released() || v.result.Verb == VerbOrphan && v.live.Owner == "")
}

func deleteKept(v victim) (decision, bool) {
	reason := ReasonOrphaned
	if IsClaim(v.key) {
		reason = ReasonKept
	}
	return v.act(VerbOrphan, reason), Releases(v.entry, v.reason)
}

func deleteTerminating(v victim) (decision, bool) {
	const message = "it is being deleted; finalizers or pods may hold it"
	if v.live.Terminating && v.live.Owner != v.owner {
		// Somebody removed its label: no watch of ours tells when it is gone.
		return v.wait(WaitNotGone, message, &Failure{Class: Transient, Reason: WaitNotGone, Message: message}), true
	}
	return v.wait(WaitNotGone, message, nil), v.live.Terminating
}

func deleteNotEmpty(v victim) (decision, bool) {
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

func deleteUnprotected(v victim) (decision, bool) {
	return decision{guard: true}, IsDefinition(v.key) && !v.protected
}

func deletePresent(v victim) (decision, bool) { return v.act(VerbDelete, v.reason), true }

// gone says that it is confirmed that the object, or the one that was recorded, does not exist. Of a completed one without a UID that was
// confirmed when it was purged.
func (v victim) gone() bool {
	return v.live.Presence == Absent && (v.live.Confirmed || v.entry.Completed && v.entry.UID == "")
}

// lost says that the object is not ours any more: another one of its name, or one that somebody else owns by now.
func (v victim) lost() bool {
	if v.live.Presence != Present {
		return false
	}
	if v.live.Owner != "" {
		return v.live.Owner != v.owner
	}
	return v.entry.UID == "" || v.entry.UID != v.live.UID
}

func (v victim) wait(reason WaitReason, message string, failure *Failure) decision {
	return decision{waiting: &Waiting{
		Key: v.key, Wave: v.wave, Reason: reason, Message: message, Failure: failure,
	}}
}

func (v victim) act(verb Verb, reason Reason) decision {
	return decision{action: &Action{
		Verb: verb, Key: v.key, Reason: reason, Wave: v.wave, Version: v.entry.Version,
		Owner: v.owner, Preconditions: Preconditions{
			UID: v.live.UID, ResourceVersion: v.live.ResourceVersion, Owner: v.owner, Exact: verb == VerbDelete,
		},
	}}
}
