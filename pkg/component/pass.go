package component

import (
	"context"
	"maps"
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/condition"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Pass is what a caller wants of an engine.
type Pass struct {
	// Owner identifies the component.
	Owner manifests.Owner
	// Desired is the apply set, as Normalise returned it; it does not matter to a deletion.
	Desired []manifests.Object
	// PreDelete is what a deletion applies before it touches anything, and PostDelete what it applies when all else is gone, both as Normalise
	// returned them. They are deleted with the rest.
	PreDelete, PostDelete []manifests.Object
	// Revision counts the inputs that Desired was rendered from, and Rendition how often they were rendered anew since, because of what is
	// looked up. While both stand, a second rendering that differs (random values) never replaces what was applied. Jobs and Pods, and what
	// did its work, follow the revision alone.
	Revision, Rendition int64
	// Trigger identifies the state of the component: whenever it changes, dependents whose reconcile policy says so are applied again.
	Trigger string
	// Insist identifies the wish that everything be repaired at once: whenever it changes, what was put off because somebody undoes it again
	// and again is repaired, and whether that lasts is seen anew.
	Insist string
	// Policies of dependents that name none; its empty fields are taken from the engine's options.
	Policies Policies
	// Managed are the additional managed types. Dependents of these types are applied last and deleted first, and foreign instances
	// forbid to delete the component.
	Managed []manifests.ManagedType
	// Inventory is what was persisted last.
	Inventory []metav1alpha1.InventoryEntry
	// Record persists an inventory. It must fail if somebody else persisted one in between. It is called before the first write to any
	// dependent that the persisted inventory lacks.
	Record func(ctx context.Context, inventory []metav1alpha1.InventoryEntry) error
	// Before is called once, before the first write of a pass that writes; an error ends the pass. It may be nil.
	Before func(ctx context.Context) error
	// Confirm returns an error if the component does not want any more what this pass is for: it is being deleted, or has changed. It is
	// called once, before the first create of a pass that recorded nothing; it may be nil where no second caller has the owner.
	Confirm func(ctx context.Context) error
	// Wake is called when a pass may have something to do. It must not block.
	Wake func()
	// Superseded, which may be nil, is closed when the component wants something else: the pass ends before its next write, with an error. What is
	// under way is carried out to its end.
	Superseded <-chan struct{}
	// Now is the time of the pass.
	Now time.Time

	// deleting says that the whole component goes.
	deleting bool
}

// over returns why a pass must not go on.
func (p Pass) over(ctx context.Context) error {
	if isClosed(p.Superseded) {
		return condition.ErrSuperseded
	}
	return ctx.Err()
}

// Outcome is what a pass achieved.
type Outcome struct {
	// Inventory is to be persisted. It is empty beside an error: what Record was given last stays then.
	Inventory []metav1alpha1.InventoryEntry
	// Applied says that the API server has the whole apply set.
	Applied bool
	// Ready and Desired count dependents.
	Ready, Desired int
	// Observing says that a watch has not delivered yet; the pass did nothing, and Wake will be called.
	Observing bool
	// Waiting are those that hold the component up; empty when all is done.
	Waiting []Waiting
	// Contested are the dependents whose repairs somebody undoes again and again, so that the next one waits, or the last one has not lasted
	// long enough to be sure. They are not counted as ready; among Waiting are only those that are missing.
	Contested []metav1alpha1.DependentReport
	// Blocked are the managed types whose foreign instances forbid a deletion; then nothing was touched.
	Blocked []Blocked
	// Unwatched are the types of dependents that cannot be watched: whether they drifted, or are ready, is known only when the next pass
	// reads them.
	Unwatched []Unwatched
	// Phase is the phase of a deletion that is under way; Skipped are objects of phases whose namespace is being deleted, so that they could
	// not be applied.
	Phase   manifests.Phase
	Skipped []manifests.Key
	// Changes are the writes that were done, in order.
	Changes []Change
	// NextDue is when the next pass is due although nothing happens; zero means never.
	NextDue time.Time
	// created are the records of those that a create was sent for, by engine.
	created plan.Inventory
	engine  *Engine
	// missed says of a deletion what it does not know of; see tellMissed.
	missed string
}

// Done says that there is nothing to do, and nobody to wait for.
func (o Outcome) Done() bool { return !o.Observing && len(o.Waiting) == 0 && len(o.Blocked) == 0 }

// Waiting names a dependent that holds the component up.
type Waiting struct {
	metav1alpha1.DependentReport
	// Failed says that it failed; Terminal that it will not get better by itself.
	Failed, Terminal bool
}

// Blocked names a managed type with the foreign instances that exist of it.
type Blocked struct {
	Type string
	// Count is the number of instances, and Names the first ten; Error says why they could not be listed.
	Count int
	Names []string
	Error string
}

// unlisted says that it is not known whether there are foreign instances, which no watch will tell either.
func (b Blocked) unlisted() bool { return b.Error != "" }

// Unwatched names a type that cannot be watched, and says why, and what to do.
type Unwatched struct {
	Type, Message string
}

// Change is one write.
type Change struct {
	Verb   string
	Key    manifests.Key
	Wave   int
	Reason string
}

func changeOf(a plan.Action) Change {
	verb := string(a.Verb)
	switch {
	case a.Verb == plan.VerbCreateNamespace:
		verb = string(plan.VerbCreate)
	case a.Reason.Adopts():
		// However it is written: adoption is never silent.
		verb = "Adopt"
	}
	return Change{Verb: verb, Key: a.Key, Wave: a.Wave, Reason: string(a.Reason)}
}

func outcome(p plan.Plan, changes []Change) Outcome {
	o := Outcome{Phase: p.Phase, Skipped: p.Skipped, Inventory: sortedEntries(p.Inventory), Applied: p.Applied, Ready: p.Ready, Desired: p.Desired, Changes: changes, NextDue: p.NextDue}
	for _, w := range p.Waiting {
		o.Waiting = append(o.Waiting, Waiting{
			DependentReport: metav1alpha1.DependentReport{
				Dependent: w.Key.String(), Wave: int32(w.Wave), Reason: w.Reason, Message: w.Message,
			},
			Failed:   w.Failure != nil,
			Terminal: w.Failure != nil && w.Failure.Class == plan.Terminal,
		})
	}
	for _, c := range p.Contested {
		o.Contested = append(o.Contested, metav1alpha1.DependentReport{
			Dependent: c.Key.String(), Wave: int32(c.Wave), Reason: ReportContested, Message: c.Message,
		})
	}
	for _, b := range p.Blocked {
		o.Blocked = append(o.Blocked, Blocked{Type: b.Type.String(), Count: b.Foreign.Count, Names: b.Foreign.Names, Error: b.Foreign.Error})
	}
	return o
}

// sortedEntries returns an inventory in the order of its keys, so that equal inventories are written equally.
func sortedEntries(inv plan.Inventory) []metav1alpha1.InventoryEntry {
	list := make([]metav1alpha1.InventoryEntry, 0, len(inv))
	for _, key := range slices.SortedFunc(maps.Keys(inv), manifests.Key.Compare) {
		list = append(list, inv[key])
	}
	return list
}
