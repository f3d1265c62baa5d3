package component

import (
	"context"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/inclusion"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass is a request of a caller to an Engine: apply or delete the dependents of one component.
type Pass struct {
	// Owner identifies the component that the dependents belong to.
	Owner manifests.Owner
	// Desired are the objects to apply, as manifests.Normalise returned them. A deletion ignores Desired.
	Desired []manifests.Object
	// Parameters are the parameters that the conditions include-when and active-when of the objects can read. They are
	// JSON values.
	Parameters map[string]any
	// PreDelete are the objects that a deletion applies before it deletes any dependent. PostDelete are the objects
	// that a deletion applies after all other dependents are gone. The objects of both lists are in the form that
	// manifests.Normalise returns, and are deleted at the end.
	PreDelete, PostDelete []manifests.Object
	// Revision counts the changes of the inputs that Desired was rendered from. Rendition counts how often the inputs
	// of this revision were rendered again because a looked-up object changed. While Revision and Rendition stay the
	// same, a rendering with other content (such as random values) never replaces the applied objects. Jobs, Pods and
	// completed dependents are applied again only if the revision changes.
	Revision, Rendition int64
	// Trigger identifies the state of the component. When Trigger changes, dependents with the reconcile policy
	// on-object-or-component-change are applied again.
	Trigger string
	// RepairNonce is an opaque token. When the token changes, backed-off repairs run at once and their counters are
	// reset.
	RepairNonce string
	// Policies are the defaults for dependents whose manifests set no policy. Empty fields are taken from the options of
	// the engine.
	Policies Policies
	// Adopt are the existing objects that may be taken over; see AdoptHolder. A rule without a namespace means an object
	// in the namespace of Owner.
	Adopt []metav1alpha1.AdoptRule
	// Managed are the additional managed types. Dependents of these types are applied last and deleted first. Foreign
	// instances of these types (objects that are not dependents) block the deletion of the component.
	Managed []manifests.ManagedType
	// AcceptUnknown are the API groups whose definitions a deletion may delete even if the instances of the defined
	// types cannot be listed. Foreign instances may be lost then.
	AcceptUnknown []string
	// Inventory is the inventory that was persisted last.
	Inventory []metav1alpha1.InventoryEntry
	// Record persists an inventory. Record must return an error if another process persisted an inventory in the
	// meantime. Record is called before the first write to a dependent that is missing in the persisted inventory.
	Record func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error
	// Before is called once, before the first write of the pass. An error ends the pass. Before may be nil.
	Before func(ctx context.Context) error
	// Confirm returns an error if this pass is outdated, because the component has changed or is being deleted. Confirm
	// is called once, before the first create of a pass that did not call Record. Confirm may be nil if no other caller
	// uses the same owner.
	Confirm func(ctx context.Context) error
	// Wake is called when an event needs another pass. Wake must not block.
	Wake func()
	// Superseded is closed by the caller when the desired state of the component changes. The pass then returns an error
	// before its next write; requests that have been sent are completed. Superseded may be nil.
	Superseded <-chan struct{}
	// Now is the time of the pass.
	Now time.Time
}

// request returns the pass as a request to an applier.
func (p Pass) request() applier.Request {
	return applier.Request{
		Owner: p.Owner, Desired: p.Desired, PreDelete: p.PreDelete, PostDelete: p.PostDelete,
		Revision: p.Revision, Rendition: p.Rendition, Trigger: p.Trigger, RepairNonce: p.RepairNonce,
		Policies: p.Policies, Adoptions: plan.NewAdoptions(p.Owner, p.Owner.Namespace, p.Adopt, ""), Managed: p.Managed,
		AcceptUnknown: p.AcceptUnknown,
		Inventory:     p.Inventory,
		Record:        p.Record, Before: p.Before, Confirm: p.Confirm, Wake: p.Wake, Superseded: p.Superseded, Now: p.Now,
	}
}

// Outcome is the result of a pass.
type Outcome struct {
	// Inventory is the record to persist. Inventory is nil if the pass ended with an error; the last recorded inventory
	// stays.
	Inventory []metav1alpha1.InventoryEntry
	// Observed are the desired objects that are only read, by the reconcile policy observe. They are not in Inventory.
	Observed []metav1alpha1.InventoryEntry
	// LeftOut are the first ten objects of Pass.Desired that are not applied because their condition include-when or
	// active-when is false. The message has the condition, and the values that it read. It never has values of Secrets.
	LeftOut []metav1alpha1.DependentReport
	// Applied is set if all desired objects have been applied.
	Applied bool
	// Ready is the number of ready dependents, and Desired the number of desired dependents.
	Ready, Desired int
	// Observing is set if the initial list of a watch has not been completed. The pass then wrote nothing, and Wake is
	// called later.
	Observing bool
	// Waiting are the dependents that are not ready yet, that are not deleted yet, or that failed. Waiting is empty
	// when all work is done.
	Waiting []Waiting
	// RepairConflicts are the dependents with a repair conflict: another client reverts the repairs of the reconciler.
	// Either the next repair is delayed, or the last repair is too recent to know that the conflict is over. A
	// dependent with a repair conflict is not counted as ready. A dependent with a repair conflict is also in Waiting
	// if it does not exist at the moment.
	RepairConflicts []metav1alpha1.DependentReport
	// Blocked are the managed types whose foreign instances block a deletion. If there are such types, nothing was
	// deleted.
	Blocked []Blocked
	// Unwatched are the types of dependents that cannot be watched. Drift and readiness of such dependents are detected
	// only when the next pass reads them.
	Unwatched []Unwatched
	// Phase is the current phase of a deletion. Skipped are the objects of deletion phases that could not be applied
	// because the namespace of the object is being deleted.
	Phase   manifests.Phase
	Skipped []manifests.Key
	// Changes are the writes that the pass made, in order.
	Changes []Change
	// NextDue is the time of the next pass if no event starts a pass earlier. NextDue is zero if the next pass starts
	// only at an event.
	NextDue time.Time
}

// Done reports whether there is nothing left to do and nothing to wait for.
func (o Outcome) Done() bool { return !o.Observing && len(o.Waiting) == 0 && len(o.Blocked) == 0 }

// Waiting is a dependent that the component waits for before it is Ready or deleted.
type Waiting struct {
	metav1alpha1.DependentReport
	// Failed is set if the last write of the dependent failed, or if the dependent itself reports failure. Terminal is set
	// if a retry cannot help.
	Failed, Terminal bool
	// Refused is set if the failure is a property of the object: the API server refuses its manifest, or the object
	// belongs to somebody else. Neither time nor rights nor other dependents end such a failure.
	Refused bool
	// Field is the first invalid field of the manifest, if the failure is about one and the field is known.
	Field string
	// Undefined is set if the type of the dependent is not served, and neither a dependent nor the component defines it.
	// The component continues when the type is served.
	Undefined bool
}

// Blocked is a managed type with foreign instances.
type Blocked struct {
	Type string
	// Count is the number of foreign instances, and Names are the first ten of them. Error is set if the instances
	// could not be listed.
	Count int
	Names []string
	Error string
}

// Unwatched is a type that cannot be watched. Message gives the cause and the remedy.
type Unwatched struct {
	Type, Message string
}

// Change is a write of a dependent.
type Change struct {
	Verb   string
	Key    manifests.Key
	Wave   int
	Reason string
	// From says who had the object, if the verb is Adopt; see Adoption. Note is what a user has to know about the adoption
	// besides, such as that a Job is complete already, so that it does not run again; mostly empty.
	From, Note string
}

// ReportRepairConflict is the reason of a report on a dependent with a repair conflict.
const ReportRepairConflict = string(plan.WaitRepairConflict)

// ReportDependency is the reason of a report on a dependent that is held up by a dependency: an object of its setting
// depends-on is not applied, or not ready.
const ReportDependency = string(plan.WaitDependency)

// ReportExport is the reason of a report on a dependent that waits for a value that another dependent exports.
// ReportUndecided is the reason of a report on a dependent whose condition include-when or active-when has no value.
const (
	ReportExport    = string(plan.WaitExport)
	ReportUndecided = string(plan.WaitUndecided)
)

// ReportExcluded is the reason of a report on an object that is left out because its condition include-when is false.
// ReportInactive is the reason of a report on an object that is neither applied nor deleted because its condition
// active-when is false.
const (
	ReportExcluded = inclusion.ReasonExcluded
	ReportInactive = inclusion.ReasonInactive
)

// IsHoldUp reports whether a report is on a dependent that is not applied yet because of a dependency, a condition or
// an exported value. The message of the report says which, and the state or the value that was seen. It has no values
// of Secrets.
func IsHoldUp(report metav1alpha1.DependentReport) bool {
	switch report.Reason {
	case ReportDependency, ReportExport, ReportUndecided:
		return true
	}
	return false
}

// Reasons of reports on externals whose existence only a person can tell: the result of a creation is not known, or the
// recorded state cannot be used.
const (
	ReportCreateUncertain = string(plan.WaitCreateUncertain)
	ReportStateDamaged    = string(plan.WaitStateDamaged)
)

// publicOutcome converts an outcome to the public type.
func publicOutcome(o outcome.Outcome) Outcome {
	return Outcome{
		Inventory:       o.Inventory,
		Observed:        o.Observed,
		LeftOut:         o.LeftOut,
		Applied:         o.Applied,
		Ready:           o.Ready,
		Desired:         o.Desired,
		Observing:       o.Observing,
		Waiting:         publicWaiting(o.Waiting),
		RepairConflicts: o.RepairConflicts,
		Blocked:         publicBlocked(o.Blocked),
		Unwatched:       convert(o.Unwatched, func(u outcome.Unwatched) Unwatched { return Unwatched(u) }),
		Phase:           o.Phase,
		Skipped:         o.Skipped,
		NextDue:         o.NextDue,
		Changes:         convert(o.Changes, func(c outcome.Change) Change { return Change(c) }),
	}
}

func publicWaiting(waiting []outcome.Waiting) []Waiting {
	return convert(waiting, func(w outcome.Waiting) Waiting {
		return Waiting{
			DependentReport: w.DependentReport, Failed: w.Failed, Terminal: w.Terminal, Refused: w.Refused,
			Field: w.Field, Undefined: w.Undefined,
		}
	})
}

func publicBlocked(blocked []outcome.Blocked) []Blocked {
	return convert(blocked, func(b outcome.Blocked) Blocked { return Blocked(b) })
}

func convert[From, To any](list []From, to func(From) To) []To {
	var converted []To
	for _, item := range list {
		converted = append(converted, to(item))
	}
	return converted
}
