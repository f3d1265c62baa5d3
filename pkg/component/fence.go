package component

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
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

// confirm reads the component, past the cache. The error is a conflict where it is not any more what this pass works for.
func (r *Reconciler[T]) confirm(ctx context.Context, component T, recorded mark) error {
	live, err := r.live(ctx, client.ObjectKeyFromObject(component))
	if err != nil {
		return err
	}
	return r.superseded(component, live, recorded)
}

// live reads a component from the API server. That it is gone is a conflict: whoever works for it has to stop.
func (r *Reconciler[T]) live(ctx context.Context, name types.NamespacedName) (T, error) {
	live, err := newComponent[T]()
	if err != nil {
		return live, err
	}
	err = r.reader.Get(ctx, name, live)
	if apierrors.IsNotFound(err) {
		return live, r.conflict(name, "it does not exist any more")
	}
	return live, err
}

// superseded returns a conflict where a newer version of a component differs from that of a pass in what the pass works with: identity,
// spec, deletion, our finalizer, or the record, of which recorded is what was persisted when the pass began. All else (other metadata, an
// author's part of the status) may change at any time, and so may the spec where the pass insists, as long as the component is not suspended.
func (r *Reconciler[T]) superseded(component, newer T, recorded mark) error {
	name := client.ObjectKeyFromObject(component)
	switch {
	case newer.GetUID() != component.GetUID():
		return r.conflict(name, "it was created anew")
	case newer.GetDeletionTimestamp().IsZero() != component.GetDeletionTimestamp().IsZero():
		return r.conflict(name, "it is being deleted")
	case newer.GetGeneration() != component.GetGeneration() && (!r.flights.insists(name) || isSuspended(newer)):
		return r.conflict(name, "its spec changed")
	case controllerutil.ContainsFinalizer(component, r.Finalizer()) && !controllerutil.ContainsFinalizer(newer, r.Finalizer()):
		return r.conflict(name, "its finalizer was removed")
	case !recorded.equal(markOf(newer.GetStatus())):
		return r.conflict(name, "its record changed")
	}
	return nil
}

func (r *Reconciler[T]) conflict(name types.NamespacedName, cause string) error {
	return apierrors.NewConflict(schema.GroupResource{Group: r.gvk.Group, Resource: r.gvk.Kind}, name.String(), fmt.Errorf("%s", cause))
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
			Owner: r.ownerOf(name), Inventory: sortedEntries(s.inventory), Now: r.clock.Now(), Wake: func() { r.wake(name) },
		})
		switch {
		case err == nil && result.Observing:
			return reconcile.Result{}
		case err != nil || !result.Done():
			return reconcile.Result{RequeueAfter: r.schedules.of(name).Retry()}
		}
		s.engine.Forget(r.ownerOf(name))
	}
	if err := r.releaseVanished(ctx, name); err != nil {
		log.FromContext(ctx).Error(err, "release the Secrets of a component that is gone")
		return reconcile.Result{RequeueAfter: r.schedules.of(name).Retry()}
	}
	r.forget(name)
	return reconcile.Result{}
}
