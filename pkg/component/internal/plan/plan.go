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
	// Contested are the dependents whose repairs somebody undoes again and again. It is complete where there are no Actions. They hold up
	// others only as far as they are not ready, or not there.
	Contested []Contest
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

// Reason says why an action is taken; it appears in events, logs and plans.
type Reason string

// The reasons.
const (
	ReasonNew        Reason = "it is new"
	ReasonMissing    Reason = "somebody deleted it"
	ReasonChanged    Reason = "its manifest changed"
	ReasonDrifted    Reason = "it drifted"
	ReasonUnlabelled Reason = "somebody removed its owner label"
	ReasonAdopted    Reason = "it exists and nobody owns it"
	ReasonSettings   Reason = "its settings changed"
	ReasonTriggered  Reason = "the component changed"
	ReasonReapply    Reason = "its reapply interval is over"
	ReasonUnverified Reason = "it is not known whether it drifted since it was applied"
	ReasonUnwatched  Reason = "its type cannot be watched"
	ReasonConfirm    Reason = "it must be confirmed that it is gone"
	ReasonPruned     Reason = "it is no longer rendered"
	ReasonPurged     Reason = "its purge wave is ready"
	ReasonDeleted    Reason = "the component is being deleted"
	ReasonKept       Reason = "claims are deleted only where their delete policy says so"
	ReasonOrphaned   Reason = "its delete policy releases it"
	ReasonGuard      Reason = "definitions are about to be deleted"
	ReasonUnguard    Reason = "no definition is about to be deleted any more"
	ReasonContested  Reason = "somebody undoes its repairs, and it is not known who"
)

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
	// updates, which an earlier policy made, or under Predecessors. TakeOver says that all fields of those become ours.
	Migrate, TakeOver bool
	Predecessors      []string
	// Advice says what to do where the object has a field that cannot change.
	Advice string
	// Policy is the update policy that decides how an object is created and compared.
	Policy metav1alpha1.UpdatePolicy
	// Owner is the owner id that the object must have, if any, to be written.
	Owner string
	// From is the owner id of whoever the object is taken from.
	From string
	// Forced says that the object is written although nothing of it may differ.
	Forced bool
	// NameRivals says of a read that it tells who owns the fields of the manifest that we do not own. It is a courtesy: that it fails is no failure.
	NameRivals bool
	// Repairs is what is to be remembered once the action is done; see Remembered.
	Repairs *Repairs
	// Definitions are those that a guard is for.
	Definitions []Definition
	// UID and ResourceVersion are preconditions; the latter of deletions, and of writes to an object that nobody owns.
	UID             types.UID
	ResourceVersion string
}

// Waiting names an object that holds the component up.
type Waiting struct {
	Key     manifests.Key
	Wave    int
	Reason  string
	Message string
	// Failure is set where it failed.
	Failure *Failure
}

// Reasons of Waiting that are not failures.
const (
	WaitObserving = "Observing"
	// WaitUnwatched: the type may not be watched, or cannot be; its objects may be read.
	WaitUnwatched = "Unwatched"
	// WaitUnauthorized: the API server refuses the credentials.
	WaitUnauthorized = "Unauthorized"
	WaitNotListable  = "NotListable"
	WaitNotServed    = "KindNotServed"
	WaitInProgress   = "InProgress"
	WaitTerminating  = "Terminating"
	WaitNotGone      = "NotGone"
	WaitNotEmpty     = "NamespaceNotEmpty"
	WaitUnguarded    = "NotGuarded"
	// WaitContested: somebody deletes the object, or takes it from us, again and again, and its repair is put off.
	WaitContested = "Contested"

	// WaitNamespaceMissing and WaitNamespaceTerminating are failures of a create that a namespace is to blame for.
	WaitNamespaceMissing     = "NamespaceMissing"
	WaitNamespaceTerminating = "NamespaceTerminating"
)

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
