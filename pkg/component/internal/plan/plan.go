package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Plan is the next step of a pass.
type Plan struct {
	// Actions can run now, in parallel.
	Actions []Action
	// Waiting are the objects that are not ready, failed, or are being deleted. The list is complete if there are no
	// Actions.
	Waiting []Waiting
	// Blocked are the managed types whose foreign instances block a removal until these instances no longer exist. If
	// Blocked is not empty, there are no Actions.
	Blocked []Blocker
	// Inventory is the new inventory. If WriteInventory is set, it must be written before the Actions run.
	Inventory      Inventory
	WriteInventory bool
	// Unapplied are the writes of this plan and of later plans that apply manifests for the first time, in apply order,
	// as far as the facts show them. It is set only if Facts.Validate is set. An object that waits for the definition of
	// its type is among them.
	Unapplied []Action
	// unread are reads of objects whose manifests were never applied. Only after the read is it known whether such an
	// object must be written; see Unread.
	unread []Action
	// Phase is the phase of a deletion whose objects are being applied.
	Phase manifests.Phase
	// Skipped are the objects of a phase that could not be applied because their namespace is being deleted.
	Skipped []manifests.Key
	// Observed are the objects of the apply set that the component only observes, in apply order. They have no UID and no
	// digest.
	Observed []metav1alpha1.InventoryEntry
	// LeftOut says why objects are not applied, because their conditions are false; at most ten, in apply order.
	LeftOut []metav1alpha1.DependentReport
	// Applied is set if the whole apply set is applied, whether it is ready or not.
	Applied bool
	// Ready is the number of ready dependents, and Desired the number of desired dependents. A dependent with several
	// occurrences is ready if its last occurrence is ready. A dependent with a repair conflict is not ready.
	Ready, Desired int
	// RepairConflicts are the dependents whose repairs are reverted repeatedly. The list is complete if there are no
	// Actions. A dependent with a repair conflict blocks later waves only if it is not ready, or does not exist.
	RepairConflicts []RepairConflict
	// Repairs must be passed to the next plan; see Facts.Repairs.
	Repairs map[manifests.Key]Repairs
	// Held is set if only repairs are made; see Facts.Hold.
	Held bool
	// occurrences are the occurrences of the objects in the apply set.
	occurrences occurrences
	// dependencies are the states of the objects that others depend on; nil if there are none.
	dependencies dependencies
	// NextDue is the time of the next plan if no watch event starts one earlier: the time at which a dependent in sync
	// is applied again, a guard is probed, or a deferred repair is made. Zero means that there is no such time.
	NextDue time.Time
}

// Unread returns the actions that must be carried out before the other ones, so that Unapplied contains all writes of
// the wave, and the adoptions of all waves: the reads of objects whose manifests were not applied yet. It is empty if
// the plan writes nothing, or if Facts.Validate is not set.
func (p Plan) Unread() []Action {
	if len(p.unread) == 0 || !p.Writes() {
		return nil
	}
	var reads []Action
	for _, a := range p.unread {
		ofWave := slices.ContainsFunc(p.Actions, func(o Action) bool { return o.Key == a.Key && o.Verb == VerbRead })
		if ofWave || a.Reason == ReasonUnmarked {
			reads = append(reads, a)
		}
	}
	return reads
}

// Incomplete reports whether Unapplied lacks writes, because objects must be read first.
func (p Plan) Incomplete() bool { return len(p.unread) > 0 }

// Writes reports whether an action writes.
func (p Plan) Writes() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Verb.Writes() })
}

// Done reports whether the plan contains no actions and no waits.
func (p Plan) Done() bool { return len(p.Actions) == 0 && len(p.Waiting) == 0 && len(p.Blocked) == 0 }

// begin makes actions the actions of the plan, unless the plan contains actions of an earlier stage.
func (p *Plan) begin(actions []Action) {
	if len(actions) > 0 && len(p.Actions) == 0 {
		p.Actions = actions
	}
}

// planAgainAt requests that the next plan is made at the given time, or earlier.
func (p *Plan) planAgainAt(at time.Time) {
	if p.NextDue.IsZero() || at.Before(p.NextDue) {
		p.NextDue = at
	}
}

// Verb is the kind of an action.
type Verb string

// The verbs.
const (
	// VerbCreate creates an object that does not exist. VerbCreate never adopts an existing object.
	VerbCreate Verb = "Create"
	// VerbApply updates an existing object by server-side apply.
	VerbApply Verb = "Apply"
	// VerbReplace reads an existing object and updates it by a PUT.
	VerbReplace Verb = "Replace"
	// VerbCreateNamespace creates a namespace that is not a dependent. VerbCreateNamespace also succeeds if the
	// namespace already exists.
	VerbCreateNamespace Verb = "CreateNamespace"
	// VerbDelete deletes an object.
	VerbDelete Verb = "Delete"
	// VerbOrphan removes our label, annotations and managed fields entries from an object, and leaves the object
	// otherwise unchanged.
	VerbOrphan Verb = "Orphan"
	// VerbRead reads an object whose state the watches do not show.
	VerbRead Verb = "Read"
	// VerbTryDelete makes a dry run of VerbDelete. Its result contains no object.
	VerbTryDelete Verb = "TryDelete"
	// VerbGuard sets up a guard for the definitions of the action, VerbProbe tests whether the guard is in effect, and
	// VerbUnguard removes it. The result of VerbProbe is Present if the guard is in effect.
	VerbGuard   Verb = "Guard"
	VerbProbe   Verb = "Probe"
	VerbUnguard Verb = "Unguard"
)

// Guards reports whether an action with this verb acts on the guard, not on a dependent.
func (v Verb) Guards() bool { return v == VerbGuard || v == VerbProbe || v == VerbUnguard }

// Writes reports whether the verb writes a dependent or its namespace.
func (v Verb) Writes() bool { return v != VerbRead && v != VerbTryDelete && !v.Guards() }

// Action is one step of a plan about one object. The executor may need several requests for it.
type Action struct {
	Verb   Verb
	Key    manifests.Key
	Reason Reason
	// Wave is the apply order, or the delete order of a removal.
	Wave int
	// Version is the API version in which the object is written or read.
	Version string
	// Object is the manifest. Object is nil for deletions, and for reads of recorded objects.
	Object *manifests.Object
	// Migrate is set if the managed fields must be rewritten before a server-side apply, because our fields may be in
	// other entries: in the entry of our regular updates, if the object had another update policy before, or in the
	// entries of PreviousManagers; see TransferOf. It is also set if one of our fields is removed whose copy has no
	// manager. TakeAllFields is set if all fields of the previous managers become ours. KeepFields is set if they lose all
	// their fields, and no field is removed from the object.
	Migrate, TakeAllFields, KeepFields bool
	PreviousManagers                   []string
	// AdoptedFrom says who had the object, if the action adopts it: another tool or a component, field managers, or
	// nobody.
	AdoptedFrom string
	// Note is what a user has to know about an adoption besides, or why a namespace is kept; empty if there is nothing.
	Note string
	// Advice is the advice for the user if the manifest changes an immutable field.
	Advice string
	// Policy is the update policy of the object. Policy determines how the object is created, and how it is compared
	// with its manifest.
	Policy metav1alpha1.UpdatePolicy
	// Owner is the owner id of the component. OwnerName is its readable form. It is set only for VerbGuard, and for
	// VerbCreateNamespace if the created namespace belongs to the component.
	Owner, OwnerName string
	// Preconditions bind the action to the observed state of the object.
	Preconditions Preconditions
	// Forced is set if the object is written even if it does not differ from the manifest.
	Forced bool
	// FindConflictingManagers is set if a read must set Observed.ConflictingManagers. A failure of such a read is
	// ignored.
	FindConflictingManagers bool
	// Repairs replace the repairs of the object in Facts.Repairs if the action succeeds; see Remembered.
	Repairs *Repairs
	// Definitions are the CustomResourceDefinitions that a guard protects. Other actions have no Definitions.
	Definitions []Definition
}

// TakesOver reports whether the action takes the object from its owner.
func (a Action) TakesOver() bool {
	return a.Preconditions.Owner != "" && a.Preconditions.Owner != a.Owner
}

// Preconditions bind an action to the observed state of the object. If the preconditions are not met, nothing is
// written: the executor reads the object, and the next plan decides. Actions on absent objects and on guards have no
// preconditions.
type Preconditions struct {
	// UID is the UID of the object.
	UID types.UID
	// ResourceVersion is the resource version of the object when it was observed.
	ResourceVersion string
	// Exact is set if the object must still have this ResourceVersion. Deletions are exact, and so are server-side
	// applies to an object without an owner, because another component may adopt it at the same time. Other applies are
	// not exact, because each change of the object's status would cause a conflict. VerbReplace and VerbOrphan read the
	// object first and are bound to the version that they read.
	Exact bool
	// Owner is the owner id of the object. An object without an owner also meets this precondition, unless the action
	// takes the object over.
	Owner string
}

// Waiting is an object that the component waits for.
type Waiting struct {
	Key     manifests.Key
	Wave    int
	Reason  WaitReason
	Message string
	// Failure is nil if nothing failed.
	Failure *Failure
	// Undefined is set if the type of the object is not served, and neither a dependent nor the component defines it.
	Undefined bool
	// UID and Generation are those of the live object if it is applied and not ready, or if it is being deleted; empty
	// otherwise.
	UID        types.UID
	Generation int64
}

// Blocker is a managed type whose foreign instances block a removal.
type Blocker struct {
	Type    manifests.ManagedType
	Foreign ForeignInstances
}

func sortBlockers(b []Blocker) {
	slices.SortFunc(b, func(x, y Blocker) int {
		return strings.Compare(x.Type.String(), y.Type.String())
	})
}
