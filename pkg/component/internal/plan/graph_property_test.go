package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// TestGraphsKeepTheirPromises checks the plans for random graphs in random worlds. Between the rounds, manifests and
// dependencies change, objects are no longer rendered, other clients change and delete objects, and types cannot be
// listed for a while.
func TestGraphsKeepTheirPromises(t *testing.T) {
	tryRandom(t, tries, func(random *rand.Rand) (broken, log string) {
		r := newRandomGraph(random)
		for rounds := r.random.IntN(3); rounds >= 0 && broken == ""; rounds-- {
			r.resolve()
			r.startRound()
			broken = r.converge()
			r.change()
		}
		if broken == "" && r.chance(50) {
			broken = r.deleteAll()
		}
		return broken, r.log
	})
}

// converge makes passes until time changes nothing any more.
func (r *randomGraph) converge() (broken string) {
	for range 60 {
		written := false
		p := r.pass(func(f Facts, p Plan) {
			written = written || slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Verb != VerbRead })
			r.log += fmt.Sprintf("plan:\n%s", p.text(f.Inventory))
			if broken == "" {
				broken = cmp.Or(r.checkAlways(f, p), r.check(f, p))
			}
		})
		switch {
		case broken != "":
			return broken
		case r.deleting && p.Done():
			return r.checkDeleted(p)
		case !r.deleting && !written && r.isSettled():
			if broken = r.checkEnd(p); broken != "" {
				for _, e := range p.Inventory {
					r.log += e.String() + "\n"
				}
			}
			return broken
		}
		r.world.passTime()
	}
	return "the passes do not converge"
}

// deleteAll deletes the component, whatever the conditions and holes of its objects result in.
func (r *randomGraph) deleteAll() (broken string) {
	r.startRound()
	r.deleting = true
	r.log += "deletion:\n"
	return r.converge()
}

// isSettled reports whether time changes nothing any more.
func (r *randomGraph) isSettled() bool {
	for _, x := range r.world.objects {
		if x.terminating || x.state == ready.InProgress {
			return false
		}
	}
	return len(r.world.blind) == 0
}

// checkAlways returns a message if a plan writes an object in an unknown state or of somebody else, writes an object
// that it does not enter into the inventory before, or forgets an object that may exist.
func (r *randomGraph) checkAlways(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Verb == VerbRead || a.Verb.Guards() {
			continue
		}
		live := f.Live.Of(a.Key)
		_, recorded := f.Inventory[a.Key]
		switch _, kept := p.Inventory[a.Key]; {
		case live.Presence == Unknown:
			return fmt.Sprintf("%s %s, although the state of the object is unknown", a.Verb, a.Key)
		case live.Owner == them, live.Presence == Present && live.Owner == "" && a.Reason != ReasonAdopted:
			return fmt.Sprintf("%s %s, which is not ours", a.Verb, a.Key)
		case !kept || !recorded && !p.WriteInventory:
			return fmt.Sprintf("%s %s is not in the inventory that is persisted before", a.Verb, a.Key)
		case a.Verb == VerbDelete && Orphans(f.Inventory[a.Key], a.Reason):
			return fmt.Sprintf("%s %s, although its policy orphans it", a.Verb, a.Key)
		case a.Object != nil:
			if broken := checkRecorded(f, p, a); broken != "" {
				return broken
			}
		}
	}
	for key := range f.Inventory {
		live := f.Live.Of(key)
		// A watch that selects an object by its name also shows it without our label.
		unconfirmed := live.Presence == Absent && !live.Confirmed && !r.world.named[key]
		exists := live.Presence == Present && live.Owner == us || unconfirmed
		if _, kept := p.Inventory[key]; !kept && (exists || live.Presence == Unknown) {
			return fmt.Sprintf("%s is forgotten, although it may exist", key)
		}
	}
	return ""
}

func dependenciesOf(o *manifests.Object) []manifests.Dependency {
	if o.Settings.Graph == nil {
		return nil
	}
	return o.Settings.Graph.DependsOn
}

// checkRecorded returns a message if the record before a write lacks a previous or a new dependency of the object.
func checkRecorded(f Facts, p Plan, a Action) string {
	has := func(list string, dependencies []manifests.Dependency) bool {
		recorded, _ := settingtext.ParseDependencies(list)
		return !slices.ContainsFunc(dependencies, func(d manifests.Dependency) bool { return !slices.Contains(recorded, d) })
	}
	previous, _ := settingtext.ParseDependencies(f.Inventory[a.Key].DependsOn)
	both := slices.Concat(previous, dependenciesOf(a.Object))
	switch {
	case !has(p.Inventory[a.Key].DependsOn, both):
		return fmt.Sprintf("%s %s, but %v are recorded instead of %v", a.Verb, a.Key, p.Inventory[a.Key].DependsOn, both)
	case !p.WriteInventory && !has(f.Recorded[a.Key].DependsOn, both):
		return fmt.Sprintf("%s %s, before its dependencies %v are persisted", a.Verb, a.Key, both)
	}
	return ""
}

// check returns a message if a plan overtakes a dependency or an earlier wave, or breaks the promise of a condition.
func (r *randomGraph) check(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Verb == VerbRead || a.Verb.Guards() {
			continue
		}
		broken := ""
		if !r.deleting {
			broken = r.checkOutcome(f, a)
		}
		if a.Verb == VerbDelete {
			broken = cmp.Or(broken, r.checkDelete(f, a))
		}
		if broken != "" {
			return broken
		}
	}
	return ""
}

// mayExist reports whether a recorded object of the component may exist. It returns false if the object is being
// deleted, and counts as deleted.
func mayExist(e metav1alpha1.InventoryEntry, f Facts) bool {
	live := f.Live.Of(KeyOf(e))
	switch live.Presence {
	case Absent:
		return !live.Confirmed
	case Present:
		return live.Owner == us && (!live.Terminating || live.Gone != GoneHolds)
	case Unknown:
	}
	return true
}

// dependsOn reports whether a recorded object depends on another.
func dependsOn(inventory Inventory, e metav1alpha1.InventoryEntry, key manifests.Key) bool {
	dependencies, err := settingtext.ParseDependencies(e.DependsOn)
	return err == nil && KeyOf(e) != key && slices.ContainsFunc(dependencies, func(d manifests.Dependency) bool {
		return d.Group != "" && d.Group == inventory[key].DependencyGroup || slices.Contains(d.In(e.Namespace), key)
	})
}

// checkDelete returns a message if an object is deleted before an object that depends on it and is to be deleted, too.
func (r *randomGraph) checkDelete(f Facts, a Action) string {
	definition := IsDefinition(a.Key)
	for key, e := range f.Inventory {
		if !r.deleting && r.isDesired(key) {
			continue
		}
		if !definition && dependsOn(f.Inventory, e, a.Key) && mayExist(e, f) {
			return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, key)
		}
		held := widgets.Matches(key.GroupKind()) || e.DependsOn != ""
		if live := f.Live.Of(key); definition && held && (mayExist(e, f) || live.Owner == us) {
			return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, key)
		}
	}
	return ""
}

func (r *randomGraph) isDesired(key manifests.Key) bool {
	return slices.ContainsFunc(r.desired, func(o manifests.Object) bool { return o.Key == key })
}

// checkDeleted returns a message if a deletion leaves an entry or an object.
func (r *randomGraph) checkDeleted(p Plan) string {
	if len(p.Inventory) > 0 {
		return fmt.Sprintf("the deletion is over, with %d entries", len(p.Inventory))
	}
	for key, x := range r.world.objects {
		if x.owner == us {
			return fmt.Sprintf("the deletion is over, and %s exists", key)
		}
	}
	return ""
}

// The dependencies of a deletion survive cycles, which only edited annotations of live objects can have.
func TestRecordedCyclesDoNotBlockADeletion(t *testing.T) {
	c := &component{world: newWorld(), deleting: true}
	for name, list := range map[string]string{
		"a": "ConfigMap b", "b": "ConfigMap shop/c", "c": "ConfigMap a, ConfigMap leaf", "top": "ConfigMap a",
		"bad":  "no key",
		"leaf": "", "self": "ConfigMap self, @g", "member": "@g?",
	} {
		o := desiredObject(0, manifests.StageConfiguration, name)
		c.applied(o)
		e := c.inventory[o.Key]
		e.DependsOn, e.DependencyGroup = list, map[string]string{"self": "g", "member": "g"}[name]
		c.inventory[o.Key] = e
	}
	var turns []string
	for range 10 {
		p := c.pass(func(_ Facts, p Plan) {
			text := ""
			for _, a := range p.Actions {
				if a.Verb == VerbDelete {
					text += a.Key.Name + " "
				}
			}
			if text != "" {
				turns = append(turns, text)
			}
		})
		if p.Done() {
			break
		}
		c.world.passTime()
	}
	want := []string{"bad top b c member self ", "a leaf "}
	if len(c.inventory) > 0 || !slices.EqualFunc(turns, want, sameWords) {
		t.Errorf("the turns are %q, want %q; left %v", turns, want, c.inventory)
	}
}

// sameWords reports whether two texts have the same words in any order.
func sameWords(a, b string) bool {
	split := func(text string) []byte {
		words := []byte(text)
		slices.Sort(words)
		return words
	}
	return slices.Equal(split(a), split(b))
}
