package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// The environment variable FAIRLEAD_SEED sets the random seed, to repeat a failed run.
const seedVariable = "FAIRLEAD_SEED"

// TestPlansKeepTheirPromises checks the plans for many random components in random worlds. In these worlds, other
// clients also write objects at random.
func TestPlansKeepTheirPromises(t *testing.T) {
	tryRandom(t, tries, func(random *rand.Rand) (broken, log string) {
		c := randomComponent(random)
		broken = c.run()
		return broken, c.log
	})
}

// tryRandom calls a test with different random numbers, and reports the first broken promise with the seed that repeats
// it. The log is read after the test.
func tryRandom(t *testing.T, count int, try func(*rand.Rand) (broken, log string)) {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(count) {
		if broken, log := try(rand.New(rand.NewPCG(seed, i))); broken != "" {
			t.Fatalf("%s\nrepeat with %s=%d; the failed try is number %d\n%s", broken, seedVariable, seed, i, log)
		}
	}
}

// randomRun is a random component, with a log of its plans.
type randomRun struct {
	*component
	random *rand.Rand
	// permanent are the desired objects that can never be applied.
	permanent map[manifests.Key]bool
	// quiet is set when other clients no longer write objects.
	quiet bool
	log   string
}

func (r *randomRun) chance(percent int) bool { return r.random.IntN(100) < percent }

func randomComponent(random *rand.Rand) *randomRun {
	r := &randomRun{
		component: &component{world: newWorld(), inventory: Inventory{}, guards: random.IntN(100) < 50},
		random:    random, permanent: map[manifests.Key]bool{},
	}
	for order := range 3 {
		for stage := manifests.StageNamespaces; stage <= manifests.StageInstances; stage++ {
			for n := range random.IntN(3) {
				r.addObject(desiredObject(order, stage, fmt.Sprintf("o%d-%d", order, n)))
			}
		}
	}
	r.randomForeign()
	r.deleting = r.chance(25)
	r.same = !r.deleting && r.chance(20)
	return r
}

// addObject adds an object in a random state to the world and the inventory.
func (r *randomRun) addObject(o manifests.Object) {
	key, wanted := o.Key, r.chance(80)
	r.randomSettings(&o)
	if r.chance(30) {
		o.Settings.DeletePolicy = []metav1alpha1.DeletePolicy{
			metav1alpha1.DeleteOrphan, metav1alpha1.DeleteOrphanOnApply, metav1alpha1.DeleteOrphanOnDelete,
		}[r.random.IntN(3)]
	}
	if o.Stage > manifests.StageDefinitions && r.chance(15) {
		o.Settings.PurgeOrder = new(o.Settings.Order + r.random.IntN(3))
	}
	if r.chance(20) {
		o.Settings.AdoptionPolicy = metav1alpha1.AdoptAlways
	}
	if wanted {
		r.desired = append(r.desired, o)
	}
	r.world.slow[key], r.world.held[key], r.world.uncovered[key] = r.chance(30), r.chance(30), r.chance(20)
	before := o
	if r.chance(40) {
		before.Digest = "d0"
	}
	switch r.random.IntN(10) {
	case 0, 1: // The object does not exist.
	case 2:
		r.applied(before)
	case 3:
		r.world.drift(r.applied(before))
	case 4: // A crash prevented the record of the response.
		r.applied(before)
		e := r.inventory[key]
		e.UID, e.Digest, e.Fields = "", "", ""
		r.inventory[key] = e
	case 5: // Somebody deleted the object.
		r.applied(before)
		delete(r.world.objects, key)
	case 6: // Somebody removed our label, or recreated the object without this label.
		x := r.applied(before)
		x.owner, x.labelled = "", false
		if r.chance(50) {
			x.uid = "recreated"
			r.permanent[key] = r.permanent[key] || wanted && o.Settings.AdoptionPolicy == metav1alpha1.AdoptNever
		}
		r.world.touch(x)
	case 7: // Somebody else owns the object.
		x := r.world.add(key, them, "theirs")
		x.labelled = r.chance(50)
		// If the object was ours before, it is not taken over again.
		taken := r.chance(50)
		if taken {
			r.applied(before)
			r.world.objects[key] = x
		}
		r.permanent[key] = r.permanent[key] || wanted && (taken || o.Settings.AdoptionPolicy != metav1alpha1.AdoptAlways)
	case 8:
		r.applied(before).terminating = true
	case 9: // The object was purged, or is about to be purged.
		r.complete(before)
	}
	r.world.blind[key], r.world.unwatched[key] = r.chance(10), r.chance(10)
}

// complete marks a purged object as completed. At random the object does not exist, and its absence is confirmed.
func (r *randomRun) complete(o manifests.Object) {
	r.applied(o)
	if !isPurged(&o) {
		return
	}
	e := r.inventory[o.Key]
	e.Completed = true
	if r.chance(60) {
		delete(r.world.objects, o.Key)
		if r.chance(50) {
			e.UID = ""
		}
	}
	r.inventory[o.Key] = e
}

// run makes passes until nothing is left to do. run returns a message if a check failed.
func (r *randomRun) run() (broken string) {
	check := func(f Facts, p Plan) {
		r.log += fmt.Sprintf("plan:\n%s", p.text(f.Inventory))
		if broken == "" {
			broken = r.check(f, p)
		}
		r.interfere(p)
	}
	var p Plan
	for pass := range 60 {
		if r.quiet = pass > 3; r.quiet {
			r.foreign = nil
		}
		p = r.pass(check)
		if broken != "" {
			return broken
		}
		if r.quiet && r.converged(p) {
			return r.checkEnd(p)
		}
		r.world.passTime()
	}
	return fmt.Sprintf("the passes do not converge: %d actions, waiting %v", len(p.Actions), p.Waiting)
}

// interfere simulates random writes of other clients between a plan and its actions.
func (r *randomRun) interfere(p Plan) {
	for _, a := range p.Actions {
		x := r.world.objects[a.Key]
		if r.quiet || x == nil || !r.chance(10) {
			continue
		}
		switch r.random.IntN(3) {
		case 0:
			r.world.touch(x)
		case 1:
			r.world.drift(x)
		case 2:
			delete(r.world.objects, a.Key)
		}
	}
}

// guarded reports whether the entries of all definitions of an action say that a guard may exist.
func (f Facts) guarded(a Action) bool {
	return !slices.ContainsFunc(a.Definitions, func(d Definition) bool {
		for key, e := range f.Inventory {
			if IsDefinition(key) && key.Name == d.Name && e.Guarded {
				return false
			}
		}
		return true
	})
}

func (r *randomRun) check(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if a.Verb.Guards() {
			if !f.guarded(a) && !p.WriteInventory {
				return fmt.Sprintf("%s, but the inventory does not record the guard before the action", a.Verb)
			}
			continue
		}
		live := f.Live.Of(a.Key)
		entry, recorded := f.Inventory[a.Key]
		if _, kept := p.Inventory[a.Key]; !kept || !recorded && !p.WriteInventory {
			return fmt.Sprintf("%s %s is not in the inventory that is persisted before", a.Verb, a.Key)
		}
		switch {
		case live.Presence == Unknown && a.Verb != VerbRead:
			return fmt.Sprintf("%s %s, although the state of the object is unknown", a.Verb, a.Key)
		case a.Verb == VerbRead:
			continue
		case live.Presence == Present && live.Owner == them && !r.mayTakeOver(a):
			return fmt.Sprintf("%s %s, which somebody else owns", a.Verb, a.Key)
		case a.Verb == VerbDelete && live.Owner == "" && live.UID != entry.UID:
			return fmt.Sprintf("%s %s, which has no owner and not the recorded UID", a.Verb, a.Key)
		case a.Verb == VerbDelete && IsDefinition(a.Key) && verified(live, entry) && !f.Guard.protects(a.Key.Name, f.Now):
			return fmt.Sprintf("%s %s, without a guard in effect", a.Verb, a.Key)
		case a.Verb == VerbDelete && (a.Preconditions.UID == "" || a.Preconditions.ResourceVersion == "" ||
			!a.Preconditions.Exact):
			return fmt.Sprintf("%s %s without preconditions", a.Verb, a.Key)
		case a.Verb == VerbDelete && a.Reason != ReasonChanged && Orphans(entry, a.Reason):
			return fmt.Sprintf("%s %s, although its policy orphans it", a.Verb, a.Key)
		case a.Verb == VerbDelete && r.wants(a.Key):
			if broken := r.checkPurge(f, p, a); broken != "" {
				return broken
			}
		case a.Verb == VerbCreate && entry.Completed && (r.same || entry.Digest == a.Object.Digest) && !r.follows(a, entry):
			return fmt.Sprintf("%s %s, which has already completed its work", a.Verb, a.Key)
		}
		if a.Object != nil && !r.repairs(entry.Digest, *a.Object) {
			if earlier, overtaken := r.overtakes(*a.Object, f, a.Key); overtaken {
				return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, earlier)
			}
		}
	}
	return cmp.Or(r.checkOnce(f, p), r.checkRemovals(f, p), r.checkForgotten(f, p))
}

// verified reports whether a live definition has our label and the recorded UID.
func verified(live Observed, entry metav1alpha1.InventoryEntry) bool {
	return live.Owner == us && (entry.UID == "" || entry.UID == live.UID)
}

// checkPurge checks the deletion of a desired object.
func (r *randomRun) checkPurge(f Facts, p Plan, a Action) string {
	i := slices.IndexFunc(r.desired, func(o manifests.Object) bool { return o.Key == a.Key })
	o := r.desired[i]
	if r.recreates(o, f) {
		return ""
	}
	if !isPurged(&o) {
		return fmt.Sprintf("%s %s, which is desired", a.Verb, a.Key)
	}
	if !p.Inventory[a.Key].Completed || !f.Inventory[a.Key].Completed && !p.WriteInventory {
		return fmt.Sprintf("%s %s, which is not recorded as completed before", a.Verb, a.Key)
	}
	later := desiredObject(*o.Settings.PurgeOrder+1, manifests.StageNamespaces, "later")
	if earlier, overtaken := r.overtakes(later, f, a.Key); overtaken {
		return fmt.Sprintf("%s %s although %s is not ready", a.Verb, a.Key, earlier)
	}
	return ""
}

// repairs reports whether an object was applied before with this manifest, or with a manifest from the same inputs.
func (r *randomRun) repairs(recorded string, o manifests.Object) bool {
	return recorded != "" && (recorded == o.Digest || r.same)
}

func (r *randomRun) wants(key manifests.Key) bool {
	for _, o := range r.desired {
		if o.Key == key {
			return !r.deleting
		}
	}
	return false
}

// overtakes returns an object that should have been applied and ready before the object o: an object of an earlier
// wave, or a namespace of the same wave. overtakes also returns an object that should have been purged before.
// overtakes skips the object with the key acted.
func (r *randomRun) overtakes(o manifests.Object, f Facts, acted manifests.Key) (manifests.Key, bool) {
	for _, earlier := range r.desired {
		before := earlier.Settings.Order < o.Settings.Order ||
			earlier.Settings.Order == o.Settings.Order && earlier.Stage == manifests.StageNamespaces && o.Stage != earlier.Stage
		if !before || earlier.Key == acted || r.appliedOnce(earlier, f) {
			continue
		}
		live, completed := f.Live.Of(earlier.Key), isPurged(&earlier) && f.Inventory[earlier.Key].Completed
		notOurs := (live.Presence != Present || live.Owner != us) && !leftAlone(earlier, f)
		purged := isPurged(&earlier) && *earlier.Settings.PurgeOrder < o.Settings.Order && o.Key == acted
		switch current := live.Digest == earlier.Digest || r.same || leftAlone(earlier, f); {
		case purged && (!completed || !notOurs):
			return earlier.Key, true
		case !completed && (notOurs || !current || live.Terminating || live.Readiness.State != ready.Ready):
			return earlier.Key, true
		}
	}
	return manifests.Key{}, false
}

func (r *randomRun) checkForgotten(f Facts, p Plan) string {
	for key, entry := range f.Inventory {
		if _, kept := p.Inventory[key]; kept {
			continue
		}
		live := f.Live.Of(key)
		switch {
		case r.wants(key):
			return fmt.Sprintf("%s is forgotten, although it is desired", key)
		case live.Presence == Unknown:
			return fmt.Sprintf("%s is forgotten, although the state of the object is unknown", key)
		case live.Presence == Absent && !live.Confirmed && (!entry.Completed || entry.UID != ""):
			return fmt.Sprintf("%s is forgotten, although it may exist without its label", key)
		case live.Presence == Present && live.Owner == us, live.Presence == Present && live.Owner == "" &&
			live.UID == entry.UID && !live.orphaned():
			return fmt.Sprintf("%s is forgotten, although it exists and is ours", key)
		}
	}
	return ""
}

// converged reports whether nothing is left to do, except for objects that can never be applied: objects that others
// own, and objects whose manifest differs at each rendering.
func (r *randomRun) converged(p Plan) bool {
	if r.deleting || len(r.permanent) == 0 && !r.same {
		return p.Done()
	}
	for _, w := range p.Waiting {
		if !r.permanent[w.Key] && w.Reason != WaitNotDeterministic {
			return false
		}
	}
	return len(p.Actions) == 0
}

// checkEnd returns a message if the world does not match the desired objects at the end.
func (r *randomRun) checkEnd(p Plan) string {
	if !p.Done() {
		return ""
	}
	if r.deleting && len(p.Inventory) > 0 {
		return fmt.Sprintf("the deletion is done, but the inventory holds %d entries", len(p.Inventory))
	}
	for key, x := range r.world.objects {
		if x.owner == us && !r.wants(key) {
			return key.String() + " leaks"
		}
	}
	if r.deleting {
		return ""
	}
	if !p.Applied || p.Ready != len(r.desired) || len(p.Inventory) != len(r.desired) {
		return fmt.Sprintf("done, but applied %v, %d of %d ready, %d recorded", p.Applied, p.Ready, len(r.desired),
			len(p.Inventory))
	}
	for _, o := range r.desired {
		x := r.world.objects[o.Key]
		if isPurged(&o) {
			if x != nil && x.owner == us || !p.Inventory[o.Key].Completed {
				return fmt.Sprintf("done, but %s is not purged", o.Key)
			}
			continue
		}
		if isOnce(o) || o.Settings.ReconcilePolicy == metav1alpha1.ReconcileCreateOnly && x != nil {
			continue
		}
		if x == nil || x.owner != us || x.digest != o.Digest && !r.same || x.fields == "fields-drifted" {
			return fmt.Sprintf("done, but %s is %+v", o.Key, x)
		}
	}
	return ""
}
