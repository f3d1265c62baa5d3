package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const graphsTried = 2000

// TestGraphsKeepTheirPromises checks the plans for random graphs in random worlds.
func TestGraphsKeepTheirPromises(t *testing.T) {
	tryRandom(t, graphsTried, func(random *rand.Rand) (broken, log string) {
		r := newRandomGraph(random)
		broken = r.run()
		return broken, r.log
	})
}

// randomGraph is a component with a random graph, with a log of its plans.
type randomGraph struct {
	*component
	random *rand.Rand
	// refused are the desired objects that can never be applied. absent are the objects that did not exist at first.
	refused, absent map[manifests.Key]bool
	// first is the inventory at first.
	first Inventory
	log   string
}

func (r *randomGraph) chance(percent int) bool { return r.random.IntN(100) < percent }

func newRandomGraph(random *rand.Rand) *randomGraph {
	r := &randomGraph{
		component: &component{world: newWorld(), inventory: Inventory{}}, random: random,
		refused: map[manifests.Key]bool{}, absent: map[manifests.Key]bool{},
	}
	r.deleting = r.chance(40)
	stages := []manifests.Stage{manifests.StageConfiguration, manifests.StageWorkloads, manifests.StageInstances}
	var objects []manifests.Object
	if r.chance(50) {
		objects = append(objects, desiredObject(0, manifests.StageDefinitions, "widgets"))
		r.guards = true
	}
	for wave := range 3 {
		for _, stage := range stages {
			for n := range r.random.IntN(2) {
				objects = append(objects, desiredObject(wave, stage, fmt.Sprintf("w%d-%d", wave, n)))
			}
		}
	}
	for n := range 1 + r.random.IntN(8) {
		objects = append(objects, r.node(objects, stages[r.random.IntN(3)], fmt.Sprintf("n%d", n)))
	}
	for _, o := range objects {
		r.addObject(o)
	}
	r.first = maps.Clone(r.inventory)
	return r
}

// node returns an object that depends on some of the given objects.
func (r *randomGraph) node(objects []manifests.Object, stage manifests.Stage, name string) manifests.Object {
	o := desiredObject(0, stage, name)
	o.Settings.Graph = &manifests.GraphSettings{}
	for _, i := range r.random.Perm(len(objects))[:min(len(objects), 1+r.random.IntN(3))] {
		key := objects[i].Key
		o.Edges = append(o.Edges, key)
		o.Settings.Graph.DependsOn = append(o.Settings.Graph.DependsOn, manifests.Dependency{Key: key})
	}
	if len(o.Settings.Graph.DependsOn) == 0 {
		o.Settings.Graph.DependsOn = []manifests.Dependency{{Group: "none", Optional: true}}
	}
	o.Settings.Graph.List = manifests.JoinDependencies(o.Settings.Graph.DependsOn)
	return o
}

// addObject adds an object in a random state to the world and the inventory.
func (r *randomGraph) addObject(o manifests.Object) {
	r.desired = append(r.desired, o)
	before := o
	if r.chance(30) {
		before.Digest = "d0"
	}
	r.world.slow[o.Key], r.world.held[o.Key] = r.chance(30), r.chance(30)
	switch r.random.IntN(6) {
	case 0, 1:
		r.absent[o.Key] = true
	case 2:
		r.applied(before)
	case 3:
		r.world.drift(r.applied(before))
	case 4: // A crash prevented the record of the response.
		r.applied(before)
		e := r.inventory[o.Key]
		e.UID, e.Digest, e.Fields = "", "", ""
		r.inventory[o.Key] = e
	case 5:
		if r.deleting || r.chance(70) {
			r.applied(before).state = ready.InProgress
			return
		}
		r.world.add(o.Key, them, "theirs")
		r.refused[o.Key] = true
	}
}

func (r *randomGraph) run() (broken string) {
	check := func(f Facts, p Plan) {
		r.log += fmt.Sprintf("plan:\n%s", p.text(f.Inventory))
		if broken == "" {
			broken = r.check(f, p)
		}
	}
	for range 60 {
		p := r.pass(check)
		switch {
		case broken != "":
			return broken
		case p.Done() || !r.deleting && r.settled():
			return r.checkEnd(p)
		}
		r.world.passTime()
	}
	return "the passes do not converge"
}

// settled reports whether time changes nothing any more.
func (r *randomGraph) settled() bool {
	for _, x := range r.world.objects {
		if x.terminating || x.state == ready.InProgress {
			return false
		}
	}
	return true
}

func (r *randomGraph) check(f Facts, p Plan) string {
	for _, a := range p.Actions {
		if r.deleting {
			if broken := r.checkDelete(f, a); broken != "" {
				return broken
			}
			continue
		}
		entry := f.Inventory[a.Key]
		if a.Object == nil || entry.Digest == a.Object.Digest {
			continue
		}
		for _, key := range a.Object.Edges {
			if !r.inSync(f, key) {
				return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, key)
			}
		}
	}
	return ""
}

// inSync reports whether a desired object is applied and ready.
func (r *randomGraph) inSync(f Facts, key manifests.Key) bool {
	live := f.Live.Of(key)
	i := slices.IndexFunc(r.desired, func(o manifests.Object) bool { return o.Key == key })
	return live.Presence == Present && live.Owner == us && live.Digest == r.desired[i].Digest && !live.Terminating &&
		live.Readiness.State == ready.Ready
}

// checkDelete returns a message if an object is deleted before a recorded object that depends on it.
func (r *randomGraph) checkDelete(f Facts, a Action) string {
	if a.Verb != VerbDelete {
		return ""
	}
	for _, e := range f.Inventory {
		dependencies, err := manifests.ParseDependencies(e.DependsOn)
		on := slices.ContainsFunc(dependencies, func(d manifests.Dependency) bool { return d.Key == a.Key })
		if err == nil && on && stands(e, f) {
			return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, KeyOf(e))
		}
	}
	definition := a.Object == nil && IsDefinition(a.Key)
	for _, e := range f.Inventory {
		instance := widgets.Matches(KeyOf(e).GroupKind()) || e.DependsOn != ""
		if definition && instance && stands(e, f) {
			return fmt.Sprintf("%s %s overtakes %s", a.Verb, a.Key, KeyOf(e))
		}
	}
	return ""
}

func (r *randomGraph) checkEnd(p Plan) string {
	if r.deleting {
		if len(p.Inventory) > 0 || len(p.Waiting) > 0 {
			return fmt.Sprintf("the deletion is over, with %d entries, waiting %v", len(p.Inventory), p.Waiting)
		}
		return ""
	}
	blocked := map[manifests.Key]bool{}
	for _, o := range r.desired {
		key, x := o.Key, r.world.objects[o.Key]
		blocked[key] = r.refused[key] || r.isBlocked(o, blocked)
		applied := x != nil && x.owner == us && x.digest == o.Digest && x.state == ready.Ready
		switch {
		case !blocked[key] && !applied:
			return fmt.Sprintf("%s is not applied, although nothing holds it up: %v", key, p.Waiting)
		case o.InGraph() && blocked[key] && r.absent[key] && x != nil:
			return fmt.Sprintf("%s is applied, although it is held up: it depends on %v, of which are blocked %v", key, o.Edges, blocked)
		case o.InGraph() && blocked[key] && !applied && !slices.ContainsFunc(p.Waiting, func(w Waiting) bool { return w.Key == key }):
			return fmt.Sprintf("%s is held up, but the plan does not wait for it", key)
		}
	}
	return ""
}

// isBlocked reports whether an object is held up: an object of the graph by its dependencies alone, and an object of a
// wave by the waves before, and the earlier stages of its wave.
func (r *randomGraph) isBlocked(o manifests.Object, blocked map[manifests.Key]bool) bool {
	if o.InGraph() {
		return slices.ContainsFunc(o.Edges, func(key manifests.Key) bool { return blocked[key] }) && !r.repairable(o)
	}
	return slices.ContainsFunc(r.desired, func(earlier manifests.Object) bool {
		before := earlier.Settings.Order < o.Settings.Order || earlier.Settings.Order == o.Settings.Order && earlier.Stage < o.Stage
		return !earlier.InGraph() && before && r.refused[earlier.Key] && o.Key != earlier.Key
	}) && !r.repairable(o)
}

// repairable reports whether an object was applied before with its manifest, so that it does not wait.
func (r *randomGraph) repairable(o manifests.Object) bool { return r.first[o.Key].Digest == o.Digest }

// The dependencies of a deletion survive cycles, which only edited annotations of live objects can have.
func TestRecordedCyclesDoNotBlockADeletion(t *testing.T) {
	c := &component{world: newWorld(), deleting: true}
	for name, list := range map[string]string{
		"a": "ConfigMap b", "b": "ConfigMap shop/c", "c": "ConfigMap a, ConfigMap leaf", "top": "ConfigMap a", "bad": "no key",
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
