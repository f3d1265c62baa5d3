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

// Facts are everything a plan is made from.
type Facts struct {
	// Owner is the owner id of the component.
	Owner string
	// Component is the key of the component itself. RemoteTarget says that it lives in another cluster, where that key is another object's.
	Component    manifests.Key
	RemoteTarget bool
	// Managed are the additional managed types, which no dependent defines.
	Managed []manifests.ManagedType
	// PreviousManagers are the managers that leave their fields to us; see PreviousManagers.
	PreviousManagers []string
	// Defaults are the policies of dependents that name none.
	Defaults Policies
	// PreDelete and PostDelete are what a deletion applies before it touches anything, and after all else is gone, each in its order.
	PreDelete, PostDelete []manifests.Object
	// Desired is the apply set, in the order in which it is applied; see manifests.Normalise.
	Desired []manifests.Object
	// Revision counts the inputs that Desired was rendered from, and Rendition how often they were rendered anew since, because something
	// changed that was looked up. Of the same rendition, a second rendering that differs (random values) never replaces what was applied.
	Revision, Rendition int64
	// Trigger identifies the state of the component, for dependents that are applied again whenever it changes.
	Trigger string
	// Reason says why what is not desired goes.
	Reason Reason
	// Inventory is the persisted record.
	Inventory Inventory
	// Live is the state of the objects named by Keys, taken right before the planning.
	Live Snapshot
	// Results are the latest answers of this pass, by key.
	Results map[manifests.Key]Result
	// Foreign are the foreign instances of managed types: of those whose definitions are about to be deleted, and, in a deletion, of
	// additional ones.
	Foreign map[manifests.ManagedType]ForeignInstances
	// Guard is what is known of the guard.
	Guard Guard
	// Repairs are what the last plan remembered of repairs, and what was answered since.
	Repairs map[manifests.Key]Repairs
	// Contents say of a namespace that is about to be deleted, by its name, what would go with it.
	Contents map[string]Contents
	// Now is the time of the pass; Started is when the process began to look, before which nobody did.
	Now, Started time.Time
}

// Policies are those of dependents that name none. Each has a value.
type Policies struct {
	Reconcile metav1alpha1.ReconcilePolicy
	Update    metav1alpha1.UpdatePolicy
	Adoption  metav1alpha1.AdoptionPolicy
	Delete    metav1alpha1.DeletePolicy
	// MissingNamespaces says what happens where the namespace of a dependent does not exist.
	MissingNamespaces metav1alpha1.MissingNamespacesPolicy
	// Reapply is the time after which a dependent is applied again although it looks in sync; zero means never.
	Reapply time.Duration
}

// Presence says whether an object exists.
type Presence string

// The presences. Unknown never yields a create, a delete, or an entry forgotten.
const (
	Unknown Presence = "Unknown"
	Absent  Presence = "Absent"
	Present Presence = "Present"
)

// Coverage says whether our entry in the managed fields names every field that the manifest sets.
type Coverage string

// The coverages. It is computed only where the manifest and the whole object are at hand: on the answer to a write or a read.
const (
	CoverageUnknown Coverage = ""
	CoverageFull    Coverage = "Full"
	CoveragePartial Coverage = "Partial"
)

// Observed is what is known of a live object.
type Observed struct {
	Presence Presence
	// Confirmed says of an absent object that a read, or the answer to our delete, told so; a watch alone does not, for somebody may have
	// removed the label by which it selects.
	Confirmed bool
	// Reason and Message say why an object is Unknown.
	Reason  WaitReason
	Message string

	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Owner is the owner id found on the object, "" if nobody owns it; OwnerName is its readable form.
	Owner, OwnerName string
	// Digest is the digest annotation.
	Digest string
	// Applied and Updated are hashes of our entries in the managed fields, by operation; "" where there is none.
	Applied, Updated string
	// Managers are the other managers that own fields, but for those that write subresources alone.
	Managers []string
	// ConflictingManagers are those who own fields of the manifest that we do not own; they are told where an action asks to name them.
	ConflictingManagers []ConflictingManager
	// Retained are fields of ours that the API server keeps, although they cannot change, when they are left out: the removal of one is lost.
	Retained []string
	// Coverage and Values compare the object with the manifest; see Coverage. Values is a hash of the values of the manifest's fields.
	Coverage Coverage
	Values   string
	// Terminating says that it has a deletion timestamp.
	Terminating bool
	// Finished says that the object asks to be removed when its work is done, and that it is. It may be told of an Absent one.
	Finished  bool
	Readiness ready.Result
}

// fields returns the hash of our entry that the update policy looks at.
func (o Observed) fields(p metav1alpha1.UpdatePolicy) string {
	if p == metav1alpha1.UpdateReplace {
		return o.Updated
	}
	return o.Applied
}

// unwatched says that only a read tells whether the object exists.
func (o Observed) unwatched() bool { return o.Presence == Unknown && o.Reason == WaitUnwatched }

// Result is the latest answer for one key in this pass.
type Result struct {
	// Verb is what was done.
	Verb Verb
	// Observed is what the answer said of the object; nil where it said nothing.
	Observed *Observed
	// Failure is set where the action failed.
	Failure *Failure
	// Attempts counts the actions on this key in this pass.
	Attempts int
}

// maxAttempts bounds the actions on one key in a pass; it ends a race against somebody who writes all the time.
const maxAttempts = 5

// FailureClass says what becomes of a failure.
type FailureClass string

// The failure classes.
const (
	// Transient failures go away by themselves; they are retried within seconds.
	Transient FailureClass = "Transient"
	// Terminal failures need a change; they are retried on change and at the retry interval, sooner at first where only others
	// can change it.
	Terminal FailureClass = "Terminal"
)

// Failure says why an action failed.
type Failure struct {
	Class  FailureClass
	Reason WaitReason
	// Cause is set where more than Reason matters.
	Cause FailureCause
	// Message says what is wrong, where, and what to do. It holds no data of Secrets.
	Message string
}

// FailureCause tells failures apart that have the same reason.
type FailureCause string

// The failure causes.
const (
	// CauseNone: only the reason of the failure matters.
	CauseNone FailureCause = ""
	// CauseMissingRight: the user lacks a right for the request. A webhook or a quota that refuses is Forbidden, too.
	CauseMissingRight FailureCause = "MissingRight"
	// CauseDryRunUnsupported: the request was a dry run, and what serves or admits the object does not support dry runs.
	CauseDryRunUnsupported FailureCause = "DryRunUnsupported"
)

// ForeignInstances are the instances of a managed type that do not belong to the component.
type ForeignInstances struct {
	// Err says why they could not be listed; then nothing may be deleted. It is nil where Count is known.
	Err error
	// Count is how many there are; Names are the first ones.
	Count int
	Names []string
}

// Message returns why the instances could not be listed; empty where they were.
func (f ForeignInstances) Message() string {
	if f.Err == nil {
		return ""
	}
	return f.Err.Error()
}

// Contents are the objects in a namespace that would go with it, although nothing else deletes them.
type Contents struct {
	// Failure says why they could not be listed; then the namespace may not be deleted.
	Failure *Failure
	// Count is how many there are; Names are the first ones.
	Count int
	Names []string
}

// Inventory is the record of dependents by key.
type Inventory map[manifests.Key]metav1alpha1.InventoryEntry

// KeyOf returns the key of an entry.
func KeyOf(e metav1alpha1.InventoryEntry) manifests.Key {
	return manifests.Key{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
}

// NewInventory indexes entries.
func NewInventory(entries []metav1alpha1.InventoryEntry) Inventory {
	inv := make(Inventory, len(entries))
	for _, e := range entries {
		inv[KeyOf(e)] = e
	}
	return inv
}

// Snapshot is the state of the live objects at one moment, by key. Nobody changes the objects that it refers to. The zero value has no
// objects.
type Snapshot map[manifests.Key]*Observed

// Of returns the state of an object. The state of an object that is not in the snapshot is Unknown, so nothing is decided about it.
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

// Keys returns the keys of the objects that a plan looks at: the recorded objects, the apply set, and the objects of the phases of a
// deletion. Facts.Live needs an entry for each.
func (f Facts) Keys() []manifests.Key {
	keys := slices.AppendSeq(make([]manifests.Key, 0, max(len(f.Inventory), len(f.Desired))), maps.Keys(f.Inventory))
	for _, objects := range [][]manifests.Object{f.Desired, f.PreDelete, f.PostDelete} {
		for i := range objects {
			if _, recorded := f.Inventory[objects[i].Key]; !recorded {
				keys = append(keys, objects[i].Key)
			}
		}
	}
	return keys
}
