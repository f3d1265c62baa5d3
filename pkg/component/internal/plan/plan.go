package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Plan is what to do next.
type Plan struct {
	// Actions may all run now, in parallel.
	Actions []Action
	// Waiting are those that are not ready, failed, or not gone, and why. It is complete where there are no Actions.
	Waiting []Waiting
	// Blocked is what a person must resolve before a deletion goes on; then there are no Actions.
	Blocked []Blocker
	// Inventory is the record as it should be; where Record is set it must be persisted before Actions run.
	Inventory Inventory
	Record    bool
	// Phase is the phase of a deletion whose objects are being applied.
	Phase manifests.Phase
	// Skipped are the objects of a phase that could not be applied, because their namespace is being deleted.
	Skipped []manifests.Key
	// Applied says that the whole apply set is applied, ready or not.
	Applied bool
	// Ready and Desired count dependents; what is contested is not ready.
	Ready, Desired int
	// RepairConflicts are the dependents whose repairs somebody undoes again and again. It is complete where there are no Actions. They hold up
	// others only as far as they are not ready, or not there.
	RepairConflicts []RepairConflict
	// Repairs are what is to be remembered of repairs, for the next plan.
	Repairs map[manifests.Key]Repairs
	// NextDue is when to plan again although nothing happens: a dependent is to be applied again although it looks in sync, a guard to be probed,
	// or what is contested to be looked at. Zero means never.
	NextDue time.Time
}

// Done says that there is nothing to do and nobody to wait for.
func (p Plan) Done() bool { return len(p.Actions) == 0 && len(p.Waiting) == 0 && len(p.Blocked) == 0 }

// Verb is a kind of action.
type Verb string

// The verbs.
const (
	// VerbCreate creates an object that is not there; it never adopts one that is.
	VerbCreate Verb = "Create"
	// VerbApply updates an existing object by server-side apply.
	VerbApply Verb = "Apply"
	// VerbReplace updates an existing object by reading and PUT.
	VerbReplace Verb = "Replace"
	// VerbCreateNamespace creates a namespace that is no dependent, or is content with one that is there by now.
	VerbCreateNamespace Verb = "CreateNamespace"
	// VerbDelete deletes an object.
	VerbDelete Verb = "Delete"
	// VerbOrphan releases an object: it takes our marks and our field ownership off, and leaves the object as it is.
	VerbOrphan Verb = "Orphan"
	// VerbRead reads an object, to learn what watches cannot tell.
	VerbRead Verb = "Read"
	// VerbGuard sets up a guard for the definitions of the action, VerbProbe asks whether it holds, and VerbUnguard removes it. A guard
	// that holds is observed as Present.
	VerbGuard   Verb = "Guard"
	VerbProbe   Verb = "Probe"
	VerbUnguard Verb = "Unguard"
)

// Guards says that the action concerns the guard, not a dependent.
func (v Verb) Guards() bool { return v == VerbGuard || v == VerbProbe || v == VerbUnguard }

// Writes says that a dependent is written.
func (v Verb) Writes() bool { return v != VerbRead && !v.Guards() }

// Action is one thing to do with one object.
type Action struct {
	Verb   Verb
	Key    manifests.Key
	Reason Reason
	// Wave is the apply order, or the delete order of a deletion.
	Wave int
	// Version of the API that the object is written or read in.
	Version string
	// Object is the manifest; nil for deletions and for reads that confirm one.
	Object *manifests.Object
	// Migrate says of a server-side apply that the managed fields are put in order before: fields of ours may be listed under regular
	// updates, which an earlier policy made, or under PreviousManagers. TakeAllFields says that all fields of those become ours.
	Migrate, TakeAllFields bool
	PreviousManagers       []string
	// Advice says what to do where the object has a field that cannot change.
	Advice string
	// Policy is the update policy that decides how an object is created and compared.
	Policy metav1alpha1.UpdatePolicy
	// Owner is the owner id of the component.
	Owner string
	// Preconditions bind the action to the object that the plan was made with.
	Preconditions Preconditions
	// Forced says that the object is written although nothing of it may differ.
	Forced bool
	// FindConflictingManagers says of a read that it tells who owns the fields of the manifest that we do not own. It is a courtesy: that it fails is no failure.
	FindConflictingManagers bool
	// Repairs is what is to be remembered once the action is done; see Remembered.
	Repairs *Repairs
	// Definitions are those that a guard is for.
	Definitions []Definition
}

// TakesOver reports whether the action takes the object from its owner.
func (a Action) TakesOver() bool {
	return a.Preconditions.Owner != "" && a.Preconditions.Owner != a.Owner
}

// Preconditions bind an action to the object that the plan was made with. Where they are not met nothing is written: the executor reads the
// object instead, and the next plan decides. The zero value is that of an action on an object that is not there, or on a guard.
type Preconditions struct {
	// UID of the object.
	UID types.UID
	// ResourceVersion of the object when it was observed.
	ResourceVersion string
	// Exact says that the object must still have that ResourceVersion. Deletions are exact, and so are updates of an object without an owner,
	// because somebody else may adopt it at the same time. Other updates are not: each change of the status would be a conflict.
	Exact bool
	// Owner is the owner id of the object. An object without an owner is accepted, too, unless the action takes the object over.
	Owner string
}

// Waiting names an object that holds the component up.
type Waiting struct {
	Key     manifests.Key
	Wave    int
	Reason  WaitReason
	Message string
	// Failure is set where it failed.
	Failure *Failure
}

// Blocker is a managed type whose foreign instances forbid a deletion.
type Blocker struct {
	Type    manifests.ManagedType
	Foreign ForeignInstances
}

func sortBlockers(b []Blocker) {
	slices.SortFunc(b, func(x, y Blocker) int {
		return strings.Compare(x.Type.String(), y.Type.String())
	})
}
