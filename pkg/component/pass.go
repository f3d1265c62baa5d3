package component

import (
	"context"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/applier"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass is what a caller wants of an engine.
type Pass struct {
	// Owner identifies the component.
	Owner manifests.Owner
	// Desired is the apply set, as Normalise returned it; it does not matter to a deletion.
	Desired []manifests.Object
	// PreDelete is what a deletion applies before it touches anything, and PostDelete what it applies when all else is
	// gone, both as Normalise returned them. They are deleted with the rest.
	PreDelete, PostDelete []manifests.Object
	// Revision counts the inputs that Desired was rendered from, and Rendition how often they were rendered anew since,
	// because of what is looked up. While both stand, a second rendering that differs (random values) never replaces
	// what was applied. Jobs and Pods, and what did its work, follow the revision alone.
	Revision, Rendition int64
	// Trigger identifies the state of the component: whenever it changes, dependents whose reconcile policy says so are
	// applied again.
	Trigger string
	// RepairNonce is an opaque token. When it changes, backed-off repairs run at once and their counters are reset.
	RepairNonce string
	// Policies of dependents that name none; its empty fields are taken from the engine's options.
	Policies Policies
	// Managed are the additional managed types. Dependents of these types are applied last and deleted first, and
	// foreign instances forbid to delete the component.
	Managed []manifests.ManagedType
	// AcceptUnknown are the groups whose types a deletion takes along although it is not known whether they have foreign
	// instances.
	AcceptUnknown []string
	// Inventory is what was persisted last.
	Inventory []metav1alpha1.InventoryEntry
	// Record persists an inventory. It must fail if somebody else persisted one in between. It is called before the
	// first write to any dependent that the persisted inventory lacks.
	Record func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error
	// Before is called once, before the first write of a pass that writes; an error ends the pass. It may be nil.
	Before func(ctx context.Context) error
	// Confirm returns an error if the component does not want any more what this pass is for: it is being deleted, or
	// has changed. It is called once, before the first create of a pass that recorded nothing; it may be nil where no
	// second caller has the owner.
	Confirm func(ctx context.Context) error
	// Wake is called when a pass may have something to do. It must not block.
	Wake func()
	// Superseded, which may be nil, is closed when the component wants something else: the pass ends before its next
	// write, with an error. What is under way is carried out to its end.
	Superseded <-chan struct{}
	// Now is the time of the pass.
	Now time.Time
}

// request returns the pass as a request to an applier.
func (p Pass) request() applier.Request {
	return applier.Request{
		Owner: p.Owner, Desired: p.Desired, PreDelete: p.PreDelete, PostDelete: p.PostDelete,
		Revision: p.Revision, Rendition: p.Rendition, Trigger: p.Trigger, RepairNonce: p.RepairNonce,
		Policies: p.Policies, Managed: p.Managed, AcceptUnknown: p.AcceptUnknown,
		Inventory: p.Inventory,
		Record:    p.Record, Before: p.Before, Confirm: p.Confirm, Wake: p.Wake, Superseded: p.Superseded, Now: p.Now,
	}
}

// Outcome is the result of a pass.
type Outcome struct {
	// Inventory is the record to persist. It is nil if the pass ended with an error; the last recorded inventory stays.
	Inventory []metav1alpha1.InventoryEntry
	// Applied is set if the API server has the whole apply set.
	Applied bool
	// Ready and Desired count dependents.
	Ready, Desired int
	// Observing is set if the first list of a watch is still under way. The pass did nothing, and Wake will be called.
	Observing bool
	// Waiting are the dependents that are not ready, not gone, or failed; empty when all is done.
	Waiting []Waiting
	// RepairConflicts are the dependents with a repair conflict: another client reverts the repairs, and the next
	// repair is delayed, or the last one has not lasted long enough to be sure. They do not count as ready. Waiting
	// holds those of them that do not exist.
	RepairConflicts []metav1alpha1.DependentReport
	// Blocked are the managed types whose foreign instances forbid a deletion; nothing was deleted then.
	Blocked []Blocked
	// Unwatched are the types of dependents that cannot be watched. Their drift and readiness are known only after the
	// next pass has read them.
	Unwatched []Unwatched
	// Phase is the current phase of a deletion. Skipped are objects of phases that could not be applied, because their
	// namespace is being deleted.
	Phase   manifests.Phase
	Skipped []manifests.Key
	// Changes are the writes of the pass, in order.
	Changes []Change
	// NextDue is the time of the next pass if no event comes before; zero without such a time.
	NextDue time.Time
}

// Done reports whether there is nothing left to do and nothing to wait for.
func (o Outcome) Done() bool { return !o.Observing && len(o.Waiting) == 0 && len(o.Blocked) == 0 }

// Waiting is a dependent that holds the component up.
type Waiting struct {
	metav1alpha1.DependentReport
	// Failed is set if the last request or the dependent itself failed; Terminal if a retry cannot help.
	Failed, Terminal bool
}

// Blocked is a managed type with foreign instances.
type Blocked struct {
	Type string
	// Count is the number of instances, and Names the first ten. Error says why they could not be listed.
	Count int
	Names []string
	Error string
}

// Unwatched is a type that cannot be watched, with the cause and the remedy.
type Unwatched struct {
	Type, Message string
}

// Change is a write of a dependent.
type Change struct {
	Verb   string
	Key    manifests.Key
	Wave   int
	Reason string
}

// ReportRepairConflict is the reason of a report on a dependent with a repair conflict.
const ReportRepairConflict = string(plan.WaitRepairConflict)

// publicOutcome returns an outcome as callers of an Engine get it.
func publicOutcome(o outcome.Outcome) Outcome {
	return Outcome{
		Inventory: o.Inventory, Applied: o.Applied, Ready: o.Ready, Desired: o.Desired, Observing: o.Observing,
		Waiting: publicWaiting(o.Waiting), RepairConflicts: o.RepairConflicts, Blocked: publicBlocked(o.Blocked),
		Unwatched: convert(o.Unwatched, func(u outcome.Unwatched) Unwatched { return Unwatched(u) }),
		Phase:     o.Phase, Skipped: o.Skipped, NextDue: o.NextDue,
		Changes: convert(o.Changes, func(c outcome.Change) Change { return Change(c) }),
	}
}

func publicWaiting(waiting []outcome.Waiting) []Waiting {
	return convert(waiting, func(w outcome.Waiting) Waiting { return Waiting(w) })
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
