package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const heldTried = 1000

// heldGraph is a random graph whose objects have conditions that are true, false, or without a value, and holes without
// a value. Some of its objects are only observed.
type heldGraph struct {
	*randomGraph
	// observed are the objects that are only observed.
	observed map[manifests.Key]bool
	// undecided are the objects whose conditions have no value, inactive those whose condition active-when is false, and
	// excluded those whose condition include-when is false.
	undecided, inactive, excluded map[manifests.Key]bool
}

// TestConditionsKeepTheirPromises checks the plans for random graphs with random results of conditions and holes:
// nothing is written or deleted because of a condition or a hole without a value, an observed object is neither written
// nor deleted, another object is deleted only if it is excluded, in the reverse order, nothing overtakes its
// dependencies, and the plans converge.
func TestConditionsKeepTheirPromises(t *testing.T) {
	tryRandom(t, heldTried, func(random *rand.Rand) (broken, log string) {
		h := newHeldGraph(random)
		return h.run(), h.log
	})
}

func newHeldGraph(random *rand.Rand) *heldGraph {
	h := &heldGraph{
		randomGraph: newRandomGraph(random), undecided: map[manifests.Key]bool{}, inactive: map[manifests.Key]bool{},
		excluded: map[manifests.Key]bool{}, observed: map[manifests.Key]bool{},
	}
	h.deleting, h.unbound = false, map[manifests.Key]Unbound{}
	var desired []manifests.Object
	for _, o := range h.desired {
		inherits := func(from map[manifests.Key]bool) bool {
			return slices.ContainsFunc(o.Edges, func(key manifests.Key) bool { return from[key] })
		}
		_, recorded := h.inventory[o.Key]
		isHolder := len(o.Types) > 0
		switch chosen := h.random.IntN(10); {
		case !isHolder && chosen == 0 || inherits(h.excluded):
			h.excluded[o.Key] = true
			continue
		case chosen == 1 || inherits(h.inactive):
			h.inactive[o.Key] = true
			if !recorded {
				continue
			}
			o.Held = &manifests.Held{}
		case chosen == 2:
			h.undecided[o.Key] = true
			o.Held = &manifests.Held{Undecided: "a value is missing", Transient: h.chance(50)}
		case chosen == 3:
			h.unbound[o.Key] = Unbound{Message: "a value is missing", Failed: h.chance(20)}
		case chosen == 4 && !isHolder:
			h.observed[o.Key], h.world.named[o.Key] = true, true
			o.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
		}
		desired = append(desired, o)
	}
	h.desired = desired
	return h
}

func (h *heldGraph) run() (broken string) {
	before := maps.Clone(h.world.objects)
	check := func(f Facts, p Plan) {
		h.log += fmt.Sprintf("plan:\n%s", p.text(f.Inventory))
		if broken == "" {
			broken = h.check(f, p)
		}
	}
	for range 60 {
		h.component.excluded = h.excluded
		p := h.pass(check)
		switch {
		case broken != "":
			return broken
		case p.Done() || h.settled():
			return h.checkUntouched(before, p)
		}
		h.world.passTime()
	}
	return "the passes do not converge"
}

// check returns a message if a plan writes an object that must stay, or overtakes a dependency.
func (h *heldGraph) check(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Verb == VerbRead || a.Verb.Guards() {
			continue
		}
		_, unbound := h.unbound[a.Key]
		switch {
		case h.observed[a.Key] && a.Verb == VerbOrphan:
			continue
		case h.undecided[a.Key] || h.inactive[a.Key] || h.observed[a.Key] || unbound:
			return fmt.Sprintf("%s %s, which must stay as it is", a.Verb, a.Key)
		case a.Verb == VerbDelete && !h.excluded[a.Key]:
			return fmt.Sprintf("%s %s, which is not excluded", a.Verb, a.Key)
		case a.Verb == VerbDelete:
			if broken := h.checkDelete(f, a); broken != "" {
				return broken
			}
		case a.Object != nil && f.Inventory[a.Key].Digest != a.Object.Digest:
			for _, key := range a.Object.Edges {
				if h.undecided[key] || h.wanted(key) && !h.inactive[key] && !h.isReached(f, key) {
					return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, key)
				}
			}
		}
	}
	return ""
}

// isReached reports whether an observed object is ready, or another object is applied and ready.
func (h *heldGraph) isReached(f Facts, key manifests.Key) bool {
	live := f.Live.Of(key)
	if h.observed[key] {
		return live.Presence == Present && !live.Terminating && live.IsReady() && live.Owner != us
	}
	return h.inSync(f, key)
}

func (h *heldGraph) wanted(key manifests.Key) bool {
	return slices.ContainsFunc(h.desired, func(o manifests.Object) bool { return o.Key == key })
}

// checkUntouched returns a message if an object is gone that must stay as it is, an excluded object is left, or the
// plan does not wait for an object whose condition or hole has no value.
func (h *heldGraph) checkUntouched(before map[manifests.Key]*thing, p Plan) string {
	for key := range before {
		x := h.world.objects[key]
		_, unbound := h.unbound[key]
		switch {
		case (h.undecided[key] || h.inactive[key] || h.observed[key] || unbound) && x == nil && !before[key].terminating:
			return fmt.Sprintf("%s is gone", key)
		case h.excluded[key] && x != nil && x.owner == us:
			return fmt.Sprintf("%s is excluded, and exists: %v", key, p.Waiting)
		}
	}
	for key := range h.undecided {
		if !slices.ContainsFunc(p.Waiting, func(w Waiting) bool { return w.Key == key && w.Reason == WaitUndecided }) {
			return fmt.Sprintf("the plan does not wait for %s", key)
		}
	}
	for key := range h.unbound {
		if !h.refused[key] && !slices.ContainsFunc(p.Waiting, func(w Waiting) bool { return w.Key == key }) {
			return fmt.Sprintf("the plan does not wait for the values of %s", key)
		}
	}
	return ""
}
