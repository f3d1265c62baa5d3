package component

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// fence keeps two operators of one name from undoing each other's work: what one deletes the other must not create again from what it
// knew before. Only a create can bring an object back: applies and replacements are bound to the UID.
//
// Before the first create of a pass the component is written (the record) or read: it still wants what is created. What happens between
// that and the create is found afterwards: the status that follows is bound to the resource version, and until one was written the
// reconciler remembers what it created, for its next pass to delete where the component does not want it any more. A deletion that begins
// after that finds the objects, for it forgets nothing without reading.
type fence struct {
	// record says that the inventory is to be persisted before the next action.
	record bool
	passed bool
	// begun says that the pass has written, or is about to.
	begun bool
	// created are the keys that a create was sent for, whatever was answered.
	created map[manifests.Key]bool
}

// pass lets the actions of a plan run, or returns why not.
func (f *fence) pass(ctx context.Context, p Pass, decided plan.Plan) error {
	if err := f.before(ctx, p, decided.Actions); err != nil {
		return err
	}
	creates := slices.ContainsFunc(decided.Actions, isCreate)
	switch {
	case f.record && p.Record != nil:
		if err := p.Record(ctx, sortedEntries(decided.Inventory)); err != nil {
			return fmt.Errorf("record the inventory: %w", err)
		}
		f.record, f.passed = false, true
	case creates && !f.passed && p.Confirm != nil:
		if err := p.Confirm(ctx); err != nil {
			return fmt.Errorf("confirm the component: %w", err)
		}
		f.passed = true
	}
	// Not before: what no create is sent for is not there, and counts as recorded the next time.
	f.note(decided.Actions)
	return nil
}

func (f *fence) before(ctx context.Context, p Pass, actions []plan.Action) error {
	writes := slices.ContainsFunc(actions, func(a plan.Action) bool { return a.Verb != plan.VerbRead })
	if f.begun || !writes || p.Before == nil {
		return nil
	}
	f.begun = true
	return p.Before(ctx)
}

func isCreate(a plan.Action) bool { return a.Verb == plan.VerbCreate }

func (f *fence) note(actions []plan.Action) {
	for _, a := range actions {
		if !isCreate(a) {
			continue
		}
		if f.created == nil {
			f.created = map[manifests.Key]bool{}
		}
		f.created[a.Key] = true
	}
}

// entries returns the records of what was created.
func (f *fence) entries(inv plan.Inventory) plan.Inventory {
	created := plan.Inventory{}
	for key := range f.created {
		if e, ok := inv[key]; ok {
			created[key] = e
		}
	}
	return created
}

// suspects are what passes created since a status was written last, and the engine that did.
type suspects struct {
	engine    *Engine
	inventory plan.Inventory
}

// suspect remembers what a pass created until a status was written after it.
func (r *Reconciler[T]) suspect(name types.NamespacedName, e *Engine, o outcome.Outcome) {
	if len(o.Created) == 0 {
		return
	}
	r.suspects.change(name, func(s suspects) (suspects, bool) {
		inventory := maps.Clone(s.inventory)
		if inventory == nil {
			inventory = plan.Inventory{}
		}
		maps.Copy(inventory, o.Created)
		return suspects{e, inventory}, true
	})
}

// acquit forgets what was created: a status was written after it.
func (r *Reconciler[T]) acquit(name types.NamespacedName) { r.suspects.forget(name) }

// withSuspects adds to a record what this process created and the record lacks: another operator, that had already seen it gone, forgot it.
func (r *Reconciler[T]) withSuspects(name types.NamespacedName, inventory []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	s := r.suspects.of(name)
	if len(s.inventory) == 0 {
		return inventory
	}
	all := maps.Clone(s.inventory)
	maps.Copy(all, plan.NewInventory(inventory))
	return sortedEntries(all)
}

// vanished ends the work for a component that does not exist any more: what was created for it too late is deleted.
func (r *Reconciler[T]) vanished(ctx context.Context, req reconcile.Request) reconcile.Result {
	name := req.NamespacedName
	if s := r.suspects.of(name); len(s.inventory) > 0 {
		result, err := s.engine.delete(ctx, Pass{
			Owner: r.owners.Known(name), Inventory: sortedEntries(s.inventory), Now: r.clock.Now(), Wake: func() { r.wake(name) },
		})
		switch {
		case err == nil && result.Observing:
			return reconcile.Result{}
		case err != nil || !result.Done():
			return reconcile.Result{RequeueAfter: r.schedules.of(name).Retry()}
		}
		s.engine.Forget(r.owners.Known(name))
	}
	if err := r.releaseVanished(ctx, name); err != nil {
		log.FromContext(ctx).Error(err, "release the Secrets of a component that is gone")
		return reconcile.Result{RequeueAfter: r.schedules.of(name).Retry()}
	}
	r.forget(name)
	return reconcile.Result{}
}
