package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// TestConditionsKeepTheirPromises checks the plans for random graphs with random results of conditions and holes, which
// change in each round: nothing is written or deleted because of a condition or a hole without a value, an observed
// object is neither written nor deleted, nothing is pruned while the rendering waits for a value, and an excluded
// object is deleted in the reverse order. As soon as all conditions and holes have values, the plans converge.
func TestConditionsKeepTheirPromises(t *testing.T) {
	tryRandom(t, tries, func(random *rand.Rand) (broken, log string) {
		r := newRandomGraph(random)
		for rounds := 1 + r.random.IntN(3); rounds >= 0 && broken == ""; rounds-- {
			r.resolve()
			r.drawOutcomes(rounds > 0)
			r.startRound()
			broken = r.converge()
			r.change()
			if broken == "" && r.chance(15) {
				return r.deleteAll(), r.log
			}
		}
		return broken, r.log
	})
}

// drawOutcomes sets random results of the conditions and holes. If missing is set, some have no value.
func (r *randomGraph) drawOutcomes(missing bool) {
	clear(r.outcomes)
	for _, o := range r.objects {
		if drawn := r.drawOutcome(o, missing); drawn != outcomeApplied {
			r.outcomes[o.Key] = drawn
		}
	}
	if r.open = nil; missing && r.chance(20) {
		r.open = []OpenExport{{
			AskedExport: AskedExport{AskedExport: metav1alpha1.AskedExport{Name: "x"}},
			Message:     "no value",
		}}
	}
}

func (r *randomGraph) drawOutcome(o manifests.Object, missing bool) outcome {
	isHolder := len(o.Types) > 0
	switch chosen := r.random.IntN(14); {
	case r.inherits(o, outcomeExcluded, outcomeReleased):
		return []outcome{outcomeExcluded, outcomeExcluded, outcomeExcluded, outcomeReleased}[r.random.IntN(4)]
	case !isHolder && chosen == 0:
		return outcomeExcluded
	case !isHolder && chosen == 1:
		return outcomeReleased
	case r.inherits(o, outcomeInactive), chosen == 2:
		return outcomeInactive
	case missing && chosen == 3:
		return outcomeUndecided
	case missing && chosen == 4:
		return outcomeUnbound
	case !isHolder && chosen == 5:
		return outcomeObserved
	}
	return outcomeApplied
}

// inherits reports whether an object depends on an object with one of the outcomes, by a dependency that is not
// optional, and not by a group.
func (r *randomGraph) inherits(o manifests.Object, from ...outcome) bool {
	return slices.ContainsFunc(dependenciesOf(&o), func(d manifests.Dependency) bool {
		return !d.Optional && slices.ContainsFunc(d.In(o.Key.Namespace), func(key manifests.Key) bool {
			return slices.Contains(o.Edges(), key) && slices.Contains(from, r.outcomes[key])
		})
	})
}

// checkOutcome returns a message if an action writes an object that must stay, deletes an object that must stay, or
// overtakes a dependency or an earlier wave.
func (r *randomGraph) checkOutcome(f Facts, a Action) string {
	entry := f.Inventory[a.Key]
	if !r.isRendered(a.Key) {
		return r.checkPrune(f, a)
	}
	switch of := r.outcomes[a.Key]; {
	case (of == outcomeObserved || of == outcomeReleased) && a.Verb == VerbOrphan,
		of == outcomeExcluded && a.Object == nil:
	case of != outcomeApplied:
		return fmt.Sprintf("%s %s, which is %s", a.Verb, a.Key, of)
	case a.Verb == VerbCreate && a.Object.Undecided != nil:
		return fmt.Sprintf("%s %s, although it is not decided whether it is applied", a.Verb, a.Key)
	case a.Object == nil || a.Verb == VerbDelete:
		return fmt.Sprintf("%s %s, which is desired", a.Verb, a.Key)
	case entry.Digest != a.Object.Digest:
		return r.checkEarlier(f, a)
	}
	return ""
}

// checkEarlier returns a message if an object is applied before the objects that it depends on, or before an earlier
// wave.
func (r *randomGraph) checkEarlier(f Facts, a Action) string {
	for i := range r.desired {
		o := &r.desired[i]
		before := slices.Contains(a.Object.Edges(), o.Key)
		if !a.Object.InGraph() {
			before = !o.InGraph() && o.Settings.Order < a.Object.Settings.Order
		}
		if before && !r.isReached(f, *o) {
			return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, o.Key)
		}
	}
	return ""
}

// checkPrune returns a message if an object that is no longer rendered is removed too early.
func (r *randomGraph) checkPrune(f Facts, a Action) string {
	switch {
	case a.Object != nil:
		return fmt.Sprintf("%s %s, which is not desired", a.Verb, a.Key)
	case r.open != nil:
		return fmt.Sprintf("%s %s, although the rendering waits for a value", a.Verb, a.Key)
	case f.Inventory[a.Key].PrunePolicy == metav1alpha1.PruneAtOnce:
		return ""
	}
	for _, o := range r.desired {
		if !r.isReached(f, o) {
			return fmt.Sprintf("%s %s, although %s is not ready", a.Verb, a.Key, o.Key)
		}
	}
	return ""
}

// isReached reports whether a desired object holds up no other: it is inactive, an observed object that is ready, or an
// object that is applied and ready.
func (r *randomGraph) isReached(f Facts, o manifests.Object) bool {
	live := f.Live.Of(o.Key)
	ready := live.Presence == Present && !live.Terminating && live.IsReady()
	switch r.outcomes[o.Key] {
	case outcomeInactive:
		return true
	case outcomeObserved:
		return ready && live.Owner != us
	case outcomeApplied:
		return ready && live.Owner == us && live.Digest == o.Digest
	case outcomeUndecided, outcomeUnbound, outcomeExcluded, outcomeReleased:
	}
	return false
}

// checkEnd returns a message if the world does not match the desired objects when time changes nothing any more.
func (r *randomGraph) checkEnd(p Plan) string {
	for key, x := range r.before {
		if now := r.world.objects[key]; r.theirs[key] && (now == nil || now.owner != them) {
			return fmt.Sprintf("%s is not theirs any more", key)
		} else if now == nil && !x.terminating && r.isRendered(key) && !slices.Contains([]outcome{
			outcomeApplied,
			outcomeExcluded,
		}, r.outcomes[key]) {
			return fmt.Sprintf("%s, which is %s, was deleted", key, r.outcomes[key])
		}
	}
	blocked := map[manifests.Key]bool{}
	for _, o := range r.desired {
		blocked[o.Key] = r.isStuck(o) || r.isBlocked(o, blocked)
		if broken := r.checkApplied(p, o, blocked[o.Key]); broken != "" {
			return broken
		}
	}
	return r.checkRemoved(p)
}

// checkApplied returns a message if a desired object is not applied although nothing holds it up, is applied although
// it is held up, or if the plan does not wait for it.
func (r *randomGraph) checkApplied(p Plan, o manifests.Object, blocked bool) string {
	key, x := o.Key, r.world.objects[o.Key]
	applied := x != nil && x.owner == us && x.digest == o.Digest && x.state == ready.Ready
	previous := r.before[key]
	wasApplied := previous.owner == us && previous.digest == o.Digest
	// Whether an object of a later wave waits for a value is not known before it is read.
	waits := slices.ContainsFunc(p.Waiting, func(w Waiting) bool { return w.Key == key }) || !o.InGraph() &&
		r.world.unwatched[key]
	of := r.outcomes[key]
	switch {
	case of == outcomeInactive:
		return ""
	case of == outcomeApplied && !blocked && !applied:
		return fmt.Sprintf("%s is not applied, although nothing holds it up: %v", key, p.Waiting)
	case of == outcomeApplied && !blocked && p.Inventory[key].DependsOn != o.DependsOn():
		return fmt.Sprintf("%s is applied, but recorded with the dependencies %s", key, p.Inventory[key].DependsOn)
	case of == outcomeApplied && blocked && applied && !wasApplied:
		return fmt.Sprintf("%s is applied, although it is held up", key)
	case (of == outcomeUndecided || of == outcomeUnbound || blocked && o.InGraph() && !applied) && !waits:
		return fmt.Sprintf("the plan does not wait for %s, which is %s", key, cmp.Or(of, "held up"))
	}
	return ""
}

// isStuck reports whether an object can never be applied, or never be ready, in this round.
func (r *randomGraph) isStuck(o manifests.Object) bool {
	if o.Undecided != nil && !r.isSeen(o.Key) {
		return true
	}
	switch r.outcomes[o.Key] {
	case outcomeInactive:
		return false
	case outcomeUndecided, outcomeUnbound:
		return true
	case outcomeObserved:
		return r.world.objects[o.Key] == nil
	case outcomeApplied, outcomeExcluded, outcomeReleased:
	}
	return r.theirs[o.Key]
}

// isSeen reports whether an object exists, and whether a watch or a read shows it. A watch shows no object without our
// label.
func (r *randomGraph) isSeen(key manifests.Key) bool {
	x := r.world.objects[key]
	return x != nil && (x.labelled || r.world.named[key] || r.world.unwatched[key])
}

// isBlocked reports whether an object is held up: an object of the graph by its dependencies alone, and an object of a
// wave by the waves before, and the earlier stages of its wave. An object that was applied before with its manifest is
// not held up, and neither is an inactive object, or an observed object of a wave.
func (r *randomGraph) isBlocked(o manifests.Object, blocked map[manifests.Key]bool) bool {
	of, isApplied := r.outcomes[o.Key], r.recorded[o.Key].Digest == o.Digest
	if of == outcomeInactive || of == outcomeApplied && isApplied || of == outcomeObserved && !o.InGraph() {
		return false
	}
	return slices.ContainsFunc(r.desired, func(earlier manifests.Object) bool {
		if o.InGraph() {
			return slices.Contains(o.Edges(), earlier.Key) && blocked[earlier.Key]
		}
		sameWave := earlier.Settings.Order == o.Settings.Order && r.outcomes[earlier.Key] != outcomeUnbound
		before := earlier.Settings.Order < o.Settings.Order || sameWave && earlier.Stage < o.Stage
		return !earlier.InGraph() && before && r.isStuck(earlier) && o.Key != earlier.Key
	})
}

// checkRemoved returns a message if an object exists that is to be removed, although nothing holds it up.
func (r *randomGraph) checkRemoved(p Plan) string {
	for key, e := range p.Inventory {
		atOnce := e.PrunePolicy == metav1alpha1.PruneAtOnce && r.open == nil
		_, excluded := r.excluded[key]
		isRemoved := excluded || !r.isRendered(key) && (atOnce || p.Applied && len(p.Waiting) == 0)
		if isRemoved && !r.isNeeded(p.Inventory, key) {
			return fmt.Sprintf("%s is left: %v", key, p.Waiting)
		}
	}
	return ""
}

// isNeeded reports whether an object depends on the given one that is to be removed later.
func (r *randomGraph) isNeeded(inventory Inventory, key manifests.Key) bool {
	for other, e := range inventory {
		if !r.isDesired(other) && dependsOn(inventory, e, key) {
			_, excluded := r.excluded[other]
			atOnce := e.PrunePolicy == metav1alpha1.PruneAtOnce && r.open == nil
			if !excluded && !atOnce || r.isNeeded(inventory, other) {
				return true
			}
		}
	}
	return false
}
