package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Facts are the input of a plan.
type Facts struct {
	// Owner is the owner id of the component.
	Owner string
	// Component is the key of the component itself. RemoteTarget is set if the dependents are in another cluster than
	// the component. If RemoteTarget is set, an object with the key Component in the cluster of the dependents is not
	// the component.
	Component    manifests.Key
	RemoteTarget bool
	// Managed are the additional managed types: types that the component manages, although no dependent defines them.
	Managed []manifests.ManagedType
	// Needs are the objects that the component needs itself.
	Needs Needs
	// Adoptions are the existing objects that the component may take over.
	Adoptions Adoptions
	// PreviousManagers are the field managers whose fields are taken over; see the variable PreviousManagers.
	PreviousManagers []string
	// Names says which owners of objects messages may name.
	Names Names
	// Defaults are the policies of dependents whose manifests set no policies.
	Defaults Policies
	// PreDelete are the objects that a deletion applies, in their order, before it changes any other object. PostDelete
	// are the objects that a deletion applies when the other dependents no longer exist.
	PreDelete, PostDelete []manifests.Object
	// Phases are the objects that a later deletion applies. An apply only validates them.
	Phases []manifests.Object
	// Desired is the apply set, in the order in which it is applied; see normalise.Manifests. An object with several
	// occurrences is in Desired several times.
	Desired []manifests.Object
	// Excluded contains the objects that are not in Desired because their condition include-when is false. The value is
	// false for an object that the component only observes, and that is released instead of deleted if it has an entry.
	Excluded map[manifests.Key]bool
	// LeftOut says why objects are not applied, because their conditions are false. The plan passes it on.
	LeftOut []metav1alpha1.DependentReport
	// Conditional are the objects that can become a part of Desired in this pass, because the values change that their
	// conditions read.
	Conditional []manifests.Object
	// Revision is the revision of the inputs that Desired was rendered from. Rendition counts the renderings of one
	// revision that differ because a looked-up object changed. If a manifest differs within one rendition, for example
	// because of random values, the applied manifest is kept.
	Revision, Rendition int64
	// Trigger identifies the state of the component, for dependents that are applied again whenever the component
	// changes. In a deletion, Trigger identifies the latest request for a pass.
	Trigger string
	// Reason is the reason for the removal of recorded objects that are not desired.
	Reason Reason
	// Inventory is the record of dependents with the changes of this pass. Recorded is the persisted inventory.
	Inventory, Recorded Inventory
	// Matched are the kinds whose objects an author compares with their manifests; see Observed.MatchResult.
	Matched Matched
	// Observed is the state of the objects that the component only observes. It replaces the state that the watches on
	// dependents show.
	Observed Snapshot
	// Unbound are the objects of Desired with holes that are not filled, because a value is missing. All other objects
	// of Desired have no holes.
	Unbound map[manifests.Key]Unbound
	// Open are the exports that the rendering asked for and that have no value now. While there are any, Desired may lack
	// objects, so nothing is removed because it is not in Desired.
	Open []OpenExport
	// Validate requests Plan.Unapplied.
	Validate bool
	// Refused are the objects whose manifests the API server would refuse. They are failures. If Hold is set, nothing but
	// repairs is done, because an apply set is applied as a whole or not at all.
	Refused map[manifests.Key]Failure
	Hold    bool
	// Live is the state of the objects named by Keys, taken right before the planning.
	Live Snapshot
	// Results has, by key, the result of the latest action on the object in this pass.
	Results map[manifests.Key]Result
	// Foreign are the foreign instances of the managed types whose definitions are about to be deleted, and, in a
	// deletion, of the additional managed types.
	Foreign map[manifests.ManagedType]ForeignInstances
	// Guard is the state of the admission guard.
	Guard Guard
	// Repairs are the Repairs of the last plan, updated by the results of its actions; see Action.Remembered.
	Repairs map[manifests.Key]Repairs
	// Contents are the contents of the namespaces that are about to be deleted, by the name of the namespace.
	Contents map[string]Contents
	// Now is the time of the pass. Started is the time at which the process started.
	Now, Started time.Time
}

// Keys returns the keys of the objects that a plan decides about: the recorded objects, the apply set, and the objects
// of the phases of a deletion. The caller must put the state of each object into Facts.Live.
func (f Facts) Keys() []manifests.Key {
	keys := slices.AppendSeq(make([]manifests.Key, 0, max(len(f.Inventory), len(f.Desired))), maps.Keys(f.Inventory))
	for _, objects := range [][]manifests.Object{f.Desired, f.Conditional, f.PreDelete, f.PostDelete} {
		for i := range objects {
			if _, recorded := f.Inventory[objects[i].Key]; !recorded && objects[i].Occurrence == 0 {
				keys = append(keys, objects[i].Key)
			}
		}
	}
	return keys
}

// Policies are the policies of dependents whose manifests set no policies. Each field has a value.
type Policies struct {
	Reconcile metav1alpha1.ReconcilePolicy
	Update    metav1alpha1.UpdatePolicy
	Adoption  metav1alpha1.AdoptionPolicy
	Delete    metav1alpha1.DeletePolicy
	// MissingNamespaces decides whether the missing namespace of a dependent is created.
	MissingNamespaces metav1alpha1.MissingNamespacesPolicy
	// Reapply is the time after which a dependent in sync is applied again; zero means never.
	Reapply time.Duration
}

// Snapshot is the state of the live objects at one moment, by key. The objects that it refers to must not be changed.
// The zero value contains no objects.
type Snapshot map[manifests.Key]*Observed

// Of returns the state of an object. The state of an object that is not in the snapshot is Unknown, so no rule creates
// or deletes the object.
func (s Snapshot) Of(key manifests.Key) Observed {
	if o := s[key]; o != nil {
		return *o
	}
	return NotObserved()
}

// NotObserved is the state of an object whose type is not watched yet.
func NotObserved() Observed {
	return Observed{Presence: Unknown, Reason: WaitObserving, Message: "its type is not watched yet"}
}

// Presence states whether an object exists. It is a number, as Coverage and GoneState are, because every observed
// object has one in memory; see TestSizeOfAnObservedObject.
type Presence uint8

// The presences. An Unknown object is never created, never deleted, and never dropped from the inventory.
const (
	Unknown Presence = iota
	Absent
	Present
)

// String returns the name of the presence.
func (p Presence) String() string {
	switch p {
	case Absent:
		return "Absent"
	case Present:
		return "Present"
	case Unknown:
	}
	return "Unknown"
}

// Coverage states whether our entries in the managed fields have every field that the manifest sets.
type Coverage uint8

// The coverages. The coverage is known only after a write or a read, because it is computed from the object in the
// response and the manifest. A watch does not have the manifest.
const (
	CoverageUnknown Coverage = iota
	CoverageFull
	CoveragePartial
)

// Observed is the state of a live object.
type Observed struct {
	Presence Presence
	// Confirmed is set if the absence of an object was confirmed by a read, or by the response to our delete. An object
	// that disappears from a watch may still exist: a client may have removed the label that the watch selects by.
	Confirmed bool
	// Terminating is set if the object has a deletion timestamp.
	Terminating bool
	// Gone is the state of the condition gone-when. It is GoneUnset unless the object is being deleted.
	Gone GoneState
	// Finished is set if the object is a Job that completed its work and that Kubernetes removes some time after that
	// (ttlSecondsAfterFinished). An Absent object may be Finished: it was removed after its work.
	Finished bool
	// Copied is set if the marks of the reconciler on the object name another object, because another client made a copy
	// of that one. Owner is then the owner of the other object; see Facts.LiveOf.
	Copied bool
	// PreviousFieldOwner is set if previous field owners of the reconciler own fields. Applied and Updated cover these
	// fields, too.
	PreviousFieldOwner bool
	// Coverage and Values compare the object with the manifest; see Coverage. Values is a hash of the live values of
	// the manifest's fields.
	Coverage Coverage
	Values   string
	// Reason and Message say why the object is Unknown. Failure is set if it is Unknown because of a failure.
	Reason  WaitReason
	Message string
	Failure *Failure

	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Owner is the owner id on the object, empty if it has no owner. OwnerName is its readable form. If the object is
	// Absent, Owner is another component that may create it again.
	Owner, OwnerName string
	// Mark is the mark of another tool on an object without an owner, or on a copy. It is nil unless the object was read:
	// watches do not look for marks.
	Mark *ToolMark
	// Digest is the digest annotation.
	Digest string
	// Applied and Updated are hashes of our entries in the managed fields with the operation Apply and Update. A hash
	// is empty if there is no such entry.
	Applied, Updated string
	// Managers are the other field managers of the object. Managers that own fields only through subresources are left
	// out.
	Managers []string
	// Response has facts that only a response of the API server shows. It is nil if there are none.
	Response *Response
	// Retained are fields whose effect stays when an update leaves them out: our fields, because their values cannot
	// change or the API server keeps copies, and, with their values, defaults without an owner that the API server derived
	// from other fields; see serverrules.DropsCopy.
	Retained []string
	// MatchResult is the author's comparison with the manifest, for the kinds in Facts.Matched. It is nil if this version
	// of the object was not compared.
	MatchResult *MatchResult
	// External is set if the object is an external that exists.
	External  *ExternalLimits
	Readiness ready.Result
	// Exports are the values that the object exports. It is nil for an object without exports, and if its type is watched
	// without bodies, so that only a read can show them; see also UnreadExports.
	Exports *Exports
	// Unserved identifies the state of a definition that serves no version of its type. Unserved is empty for a
	// definition that serves a version, and for all other objects.
	Unserved string
}

// Response are facts about an object in a response that are not kept in memory.
type Response struct {
	// ConflictingManagers own fields of the manifest that we do not own. ConflictingManagers are set only in the
	// response to an action with FindConflictingManagers.
	ConflictingManagers []ConflictingManager
	// Overridden names fields of the manifest that are ours and have other values, because admission or the API server
	// changed our request. It is empty if there are none.
	Overridden string
}

// ExternalLimits are the writes that an external does not permit.
type ExternalLimits struct {
	// Immutable are the changed fields of the manifest that cannot be changed.
	Immutable []string
	// NotUpdatable is set if the external cannot be changed at all, and NotDeletable if it cannot be deleted.
	NotUpdatable, NotDeletable bool
}

// GoneState is the state of the condition gone-when of an object that is being deleted.
type GoneState uint8

// The states.
const (
	// GoneUnset: the object has no such condition, or is not being deleted.
	GoneUnset GoneState = iota
	// GoneHolds: objects that wait for the deletion of this object go on.
	GoneHolds
	// GoneWaits: the condition is false, or has no value. The message of the readiness says why.
	GoneWaits
	// GoneUnread: only the content of the object shows whether the condition holds, and only its metadata is known.
	GoneUnread
)

// fields returns the hash of our managed fields entry for an update policy.
func (o Observed) fields(p metav1alpha1.UpdatePolicy) string {
	if p == metav1alpha1.UpdateReplace {
		return o.Updated
	}
	return o.Applied
}

// notDeletable reports whether the object is an external that cannot be deleted.
func (o Observed) notDeletable() bool { return o.External != nil && o.External.NotDeletable }

// unwatched reports whether only a read can show whether the object exists.
func (o Observed) unwatched() bool { return o.Presence == Unknown && o.Reason == WaitUnwatched }

// orphaned reports whether the object has none of our labels, annotations or managed fields. A missing label alone is
// not enough: another client may have removed it.
func (o Observed) orphaned() bool {
	return o.Owner == "" && o.Digest == "" && o.Applied == "" && o.Updated == ""
}

// Result is the latest result of the actions on one key in this pass.
type Result struct {
	// Verb is the verb of the action that was carried out. Verb is VerbRead if the preconditions of a write were not
	// met: the object was then read instead.
	Verb Verb
	// Observed is the object in the response; nil if the response contains no object.
	Observed *Observed
	// Failure is nil if the action succeeded.
	Failure *Failure
	// Started is set if the action was begun and goes on after the pass. A later pass has its result.
	Started bool
	// Attempts counts the actions on this key in this pass.
	Attempts int
}

// maxAttempts is the maximum number of actions on one key in a pass. So a pass ends even if another client writes the
// object all the time.
const maxAttempts = 5

// FailureClass decides when a failed action is tried again.
type FailureClass string

// The failure classes.
const (
	// Transient failures are retried within seconds.
	Transient FailureClass = "Transient"
	// Terminal failures last until a person changes something. Terminal failures are retried when the component
	// changes, and at the retry interval. If the change must be made outside the component, the first retries come
	// sooner.
	Terminal FailureClass = "Terminal"
)

// Failure describes a failed action.
type Failure struct {
	Class  FailureClass
	Reason WaitReason
	// Cause distinguishes failures with the same Reason.
	Cause FailureCause
	// Message describes the problem, its location, and what to do. Message has no data of Secrets.
	Message string
	// Field is the first invalid field of the manifest, if the failure is about one and the field is known.
	Field string
}

// permanent reports whether the same request would fail in the same way.
func (f Failure) permanent() bool { return f.Class == Terminal || f.Reason == WaitNotServed }

// Inherent reports whether the failure is a property of the object: its manifest is invalid for the API server, it
// changes what cannot change, its type has no stored objects, or the object belongs to somebody else. Neither time nor
// rights nor other objects of the apply set end such a failure.
func (f Failure) Inherent() bool {
	if f.Class != Terminal || f.Cause != CauseNone {
		return false
	}
	return f.Reason.isInherent()
}

// IsInvalid reports whether the API server refused the object for its content, which a webhook or a newer definition of
// its type may change.
func (f Failure) IsInvalid() bool { return f.Cause == CauseNone && f.Reason.isInvalid() }

// FailureCause distinguishes failures with the same reason.
type FailureCause string

// The failure causes.
const (
	// CauseNone: no rule needs a cause besides the reason of the failure.
	CauseNone FailureCause = ""
	// CauseMissingRight: the user lacks a right for the request. Without this cause, a failure with the reason Forbidden
	// is a request that a webhook or a quota refused.
	CauseMissingRight FailureCause = "MissingRight"
	// CausePurged: the object had failed and was deleted, as its manifest requires.
	CausePurged FailureCause = "Purged"
	// CauseDryRunUnsupported: the request was a dry run, and a webhook or the API server of the type does not support
	// dry runs.
	CauseDryRunUnsupported FailureCause = "DryRunUnsupported"
	// CauseAdmission: a webhook or an admission policy refused the request, or did not answer.
	CauseAdmission FailureCause = "Admission"
	// CauseAllocated: another object has the port or the address that the object demands.
	CauseAllocated FailureCause = "Allocated"
)

// ForeignInstances are the instances of a managed type that do not belong to the component.
type ForeignInstances struct {
	// Err is the error of the list request; nil if Count is known. If Err is set, nothing may be deleted.
	Err error
	// Count is the number of instances; Keys are the first of them.
	Count int
	Keys  []manifests.Key
}

// Message returns the message of Err, or an empty string if Err is nil.
func (f ForeignInstances) Message() string {
	if f.Err == nil {
		return ""
	}
	return f.Err.Error()
}

// Contents are the objects in a namespace that would be deleted only because the namespace is deleted.
type Contents struct {
	// Failure is set if the objects could not be listed. The namespace must not be deleted then.
	Failure *Failure
	// Count is the number of objects; Keys are the first of them.
	Count int
	Keys  []manifests.Key
}
