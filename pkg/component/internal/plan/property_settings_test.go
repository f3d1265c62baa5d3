package plan

import (
	"fmt"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// oneOf chooses at random, now and then.
func oneOf[V any](r *randomRun, percent int, values ...V) V {
	var none V
	if !r.chance(percent) {
		return none
	}
	return values[r.random.IntN(len(values))]
}

// randomSettings gives an object settings that say when and how it is applied, and in which wave it is deleted.
func (r *randomRun) randomSettings(o *manifests.Object) {
	r.trigger = "t1"
	s := &o.Settings
	s.ReconcilePolicy = oneOf(r, 25, metav1alpha1.ReconcileOnce, metav1alpha1.ReconcileOnObjectOrComponentChange)
	s.UpdatePolicy = oneOf(r, 50, metav1alpha1.UpdateReplace, metav1alpha1.UpdateRecreate, metav1alpha1.UpdateSSAMerge, metav1alpha1.UpdateSSAOverride)
	s.AdoptionPolicy = oneOf(r, 20, metav1alpha1.AdoptNever, metav1alpha1.AdoptAlways)
	if r.chance(15) {
		s.ReapplyInterval = new(time.Minute)
	}
	if r.chance(15) {
		s.DeleteOrder = new(r.random.IntN(4) - 2)
	}
}

// randomForeign lets others have instances of a type that the component defines.
func (r *randomRun) randomForeign() {
	if r.chance(20) {
		r.foreign = map[manifests.ManagedType]ForeignInstances{widgets: {Count: 2, Names: []string{"theirs"}}}
	}
}

func isOnce(o manifests.Object) bool { return o.Settings.ReconcilePolicy == metav1alpha1.ReconcileOnce }

// appliedOnce says that an object is left alone because it was applied.
func (r *randomRun) appliedOnce(o manifests.Object, f Facts) bool {
	e := f.Inventory[o.Key]
	return isOnce(o) && (e.UID != "" || e.Completed || f.Live.Of(o.Key).Owner == us)
}

// mayTakeOver says that an action takes an object from its owner, as its policy says; to delete it, no policy allows.
func (r *randomRun) mayTakeOver(a Action) bool {
	return a.Object != nil && a.Verb != VerbDelete && a.Preconditions.Owner == them && a.Object.Settings.AdoptionPolicy == metav1alpha1.AdoptAlways
}

// recreates says that a desired object is deleted because it has to be created anew: its manifest changed.
func (r *randomRun) recreates(o manifests.Object, f Facts) bool {
	rendersDifferently := r.same && f.Inventory[o.Key].Digest != ""
	return o.Settings.UpdatePolicy == metav1alpha1.UpdateRecreate && !rendersDifferently && f.Live.Of(o.Key).Digest != o.Digest &&
		len(o.Types) == 0 && o.Stage != manifests.StageNamespaces
}

// checkOnce says where a plan writes to what is applied once, and was.
func (r *randomRun) checkOnce(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Object != nil && a.Verb != VerbRead && r.appliedOnce(*a.Object, f) {
			return fmt.Sprintf("%s %s, which is applied once, and was", a.Verb, a.Key)
		}
	}
	return ""
}

// checkRemovals says where a plan removes an object too early: before others that go first, before all that is desired
// is ready, or while foreign instances would go with their definition.
func (r *randomRun) checkRemovals(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Reason != ReasonPruned && a.Reason != ReasonDeleted || a.Verb != VerbDelete {
			continue
		}
		e := f.Inventory[a.Key]
		for _, other := range Removals(f.Inventory, f.Desired) {
			if !stands(other, f) {
				continue
			}
			if goesBefore(f, other, e) {
				return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, KeyOf(other))
			}
			if len(other.Types) > 0 && f.Foreign[widgets].Count > 0 && !Orphans(other, a.Reason) {
				return fmt.Sprintf("%s %s, although others have instances of what %s defines", a.Verb, a.Key, KeyOf(other))
			}
		}
		last := desiredObject(100, manifests.StageNamespaces, "last")
		if missing, unready := r.overtakes(last, f, manifests.Key{}); unready && a.Reason == ReasonPruned {
			return fmt.Sprintf("%s %s, although %s is not ready", a.Verb, a.Key, missing)
		}
	}
	return ""
}

// stands says that a recorded object exists, and is ours.
func stands(e metav1alpha1.InventoryEntry, f Facts) bool {
	live := f.Live.Of(KeyOf(e))
	return live.Presence == Present && live.Owner == us && (!e.Completed || e.UID != "")
}

// goesBefore says that an object must be gone before another one is deleted: an instance of a managed type before all
// that is none, and then the earlier wave.
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

// follows says that an object is applied again because the component changed.
func (r *randomRun) follows(a Action, e metav1alpha1.InventoryEntry) bool {
	return a.Object.Settings.ReconcilePolicy == metav1alpha1.ReconcileOnObjectOrComponentChange && e.Trigger != r.trigger
}
