package plan

import (
	"fmt"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// oneOf returns one of the values at random, with the given probability in percent. Otherwise it returns the zero
// value.
func oneOf[V any](r *randomRun, percent int, values ...V) V {
	var none V
	if !r.chance(percent) {
		return none
	}
	return values[r.random.IntN(len(values))]
}

// randomSettings sets random policies, a random reapply interval and a random delete order of an object.
func (r *randomRun) randomSettings(o *manifests.Object) {
	r.trigger = "t1"
	s := &o.Settings
	s.ReconcilePolicy = oneOf(r, 40, metav1alpha1.ReconcileOnce, metav1alpha1.ReconcileOnObjectOrComponentChange,
		metav1alpha1.ReconcileCreateOnly, metav1alpha1.ReconcileUpdateOnly, metav1alpha1.ReconcileAlways)
	// Nobody may create the object.
	r.permanent[o.Key] = s.ReconcilePolicy == metav1alpha1.ReconcileUpdateOnly
	s.UpdatePolicy = oneOf(r, 50, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate, metav1alpha1.UpdateSSAMerge,
		metav1alpha1.UpdateSSAOverride)
	s.AdoptionPolicy = oneOf(r, 20, metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways)
	if r.chance(15) {
		s.ReapplyInterval = new(time.Minute)
	}
	if o.Stage > manifests.StageDefinitions {
		s.Rare = &manifests.RareSettings{PrunePolicy: oneOf(r, 30, metav1alpha1.PruneAtOnce)}
	}
	if r.chance(15) {
		s.DeleteOrder = new(r.random.IntN(4) - 2)
	}
}

// randomForeign adds, at random, foreign instances of the type that the component defines.
func (r *randomRun) randomForeign() {
	if r.chance(20) {
		r.foreign = map[manifests.ManagedType]ForeignInstances{widgets: {Count: 2, Keys: []manifests.Key{{Name: "theirs"}}}}
	}
}

func isOnce(o manifests.Object) bool { return o.Settings.ReconcilePolicy == metav1alpha1.ReconcileOnce }

// appliedOnce reports whether an object has the reconcile policy once, and was already applied.
func (r *randomRun) appliedOnce(o manifests.Object, f Facts) bool {
	e := f.Inventory[o.Key]
	return isOnce(o) && (e.UID != "" || e.Completed || f.Live.Of(o.Key).Owner == us)
}

// leftAlone reports whether an object has the reconcile policy create-only, and exists as a dependent of the component.
func leftAlone(o manifests.Object, f Facts) bool {
	live := f.Live.Of(o.Key)
	ours := live.Owner == us || live.Owner == "" && live.UID != "" && live.UID == f.Inventory[o.Key].UID
	return o.Settings.ReconcilePolicy == metav1alpha1.ReconcileCreateOnly && live.Presence == Present && ours &&
		!live.Terminating
}

// mayTakeOver reports whether an action takes an object over from its owner, and the adoption policy allows that. No
// policy allows a deletion of such an object.
func (r *randomRun) mayTakeOver(a Action) bool {
	return a.Object != nil && a.Verb != VerbDelete && a.Preconditions.Owner == them &&
		a.Object.Settings.AdoptionPolicy == metav1alpha1.AdoptAlways
}

// recreates reports whether a desired object is to be deleted and created again, because its manifest changed.
func (r *randomRun) recreates(o manifests.Object, f Facts) bool {
	rendersDifferently := r.same && f.Inventory[o.Key].Digest != ""
	return o.Settings.UpdatePolicy == metav1alpha1.UpdateRecreate && !rendersDifferently && f.Live.Of(o.Key).
		Digest != o.Digest &&
		len(o.Types) == 0 && o.Stage != manifests.StageNamespaces
}

// checkOnce returns a message if a plan writes an object although its reconcile policy forbids that.
func (r *randomRun) checkOnce(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Object != nil && a.Verb != VerbRead && r.appliedOnce(*a.Object, f) {
			return fmt.Sprintf("%s %s, which has the policy once and was already applied", a.Verb, a.Key)
		}
		if a.Object != nil && a.Verb != VerbRead && a.Verb != VerbDelete && leftAlone(*a.Object, f) {
			return fmt.Sprintf("%s %s, which has the policy create-only and exists", a.Verb, a.Key)
		}
		if a.Verb == VerbCreate && a.Object.Settings.ReconcilePolicy == metav1alpha1.ReconcileUpdateOnly {
			return fmt.Sprintf("%s %s, which has the policy update-only", a.Verb, a.Key)
		}
	}
	return ""
}

// checkRemovals returns a message if a plan deletes an object too early: before objects that must be deleted first,
// before all desired objects are ready, or while a definition has foreign instances.
func (r *randomRun) checkRemovals(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Reason != ReasonPruned && a.Reason != ReasonDeleted || a.Verb != VerbDelete {
			continue
		}
		e := f.Inventory[a.Key]
		for _, other := range Removals(f.Inventory, f.Desired) {
			if !stands(other, f) || isPrunedAtOnce(f, e) && !isPrunedAtOnce(f, other) && a.Reason == ReasonPruned {
				continue
			}
			if goesBefore(f, other, e) {
				return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, KeyOf(other))
			}
			if len(other.Types) > 0 && f.Foreign[widgets].Count > 0 && !Orphans(other, a.Reason) {
				return fmt.Sprintf("%s %s, although foreign instances of the type that %s defines exist", a.Verb,
					a.Key, KeyOf(other))
			}
		}
		last := desiredObject(100, manifests.StageNamespaces, "last")
		if missing, unready := r.overtakes(last, f, manifests.Key{}); unready && a.Reason == ReasonPruned &&
			!isPrunedAtOnce(f, e) {
			return fmt.Sprintf("%s %s, although %s is not ready", a.Verb, a.Key, missing)
		}
	}
	return ""
}

// stands reports whether a recorded object exists and is ours.
func stands(e metav1alpha1.InventoryEntry, f Facts) bool {
	live := f.Live.Of(KeyOf(e))
	return live.Presence == Present && live.Owner == us && (!e.Completed || e.UID != "")
}

// goesBefore reports whether the deletion of the object first must end before the object second is deleted: instances
// of managed types are deleted before all other objects, and then lower delete orders before higher delete orders.
func goesBefore(f Facts, first, second metav1alpha1.InventoryEntry) bool {
	defined := false
	for _, e := range f.Inventory {
		defined = defined || len(e.Types) > 0
	}
	instance := func(e metav1alpha1.InventoryEntry) bool { return defined && widgets.Matches(KeyOf(e).GroupKind()) }
	if instance(first) != instance(second) {
		return instance(first)
	}
	return first.EffectiveDeleteOrder() < second.EffectiveDeleteOrder()
}

// follows reports whether an object is to be applied again because the component changed.
func (r *randomRun) follows(a Action, e metav1alpha1.InventoryEntry) bool {
	return a.Object.Settings.ReconcilePolicy == metav1alpha1.ReconcileOnObjectOrComponentChange && e.Trigger != r.trigger
}
