package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// randomGraph is a component with objects in waves, and objects that depend on others, in a random world. It lives
// through rounds: in each, its conditions and holes have other results, and some of its manifests are different.
type randomGraph struct {
	*component
	random *rand.Rand
	// objects are the rendered objects: those of waves in their order, and then those that depend on others, each after
	// the objects that it depends on.
	objects []manifests.Object
	// created are all objects that are or were rendered, each after those that it depends on or depended on.
	// closed are the groups that no further object joins, because an object already depends on them.
	created []manifests.Object
	closed  map[string]bool
	// outcomes are the results of the conditions and holes in this round.
	outcomes map[manifests.Key]outcome
	// theirs are the objects of other components.
	theirs map[manifests.Key]bool
	// before and recorded are the live objects and the inventory at the start of the round.
	before   map[manifests.Key]thing
	recorded Inventory
	digests  int
	log      string
}

// outcome is the result of the conditions and holes of an object. The zero value is an object that is applied.
type outcome string

const (
	outcomeApplied outcome = ""
	// outcomeExcluded: the condition include-when is false. outcomeReleased is the same for an object that is only
	// observed, and that is not deleted.
	outcomeExcluded outcome = "excluded"
	outcomeReleased outcome = "released"
	// outcomeInactive: the condition active-when is false.
	outcomeInactive outcome = "inactive"
	// outcomeUndecided: a condition has no value. outcomeUnbound: a hole has no value.
	outcomeUndecided outcome = "undecided"
	outcomeUnbound   outcome = "unbound"
	// outcomeObserved: the object is only observed.
	outcomeObserved outcome = "observed"
)

func (r *randomGraph) chance(percent int) bool { return r.random.IntN(100) < percent }

var graphStages = []manifests.Stage{manifests.StageConfiguration, manifests.StageWorkloads, manifests.StageInstances}

func newRandomGraph(random *rand.Rand) *randomGraph {
	r := &randomGraph{
		component: &component{world: newWorld(), inventory: Inventory{}}, random: random,
		theirs: map[manifests.Key]bool{}, closed: map[string]bool{}, outcomes: map[manifests.Key]outcome{},
	}
	if r.chance(50) {
		r.create(desiredObject(0, manifests.StageDefinitions, "widgets"), true)
		r.guards = r.chance(70)
	}
	for wave := range 3 {
		for _, stage := range graphStages {
			for n := range r.random.IntN(2) {
				o := desiredObject(wave, stage, fmt.Sprintf("w%d-%d", wave, n))
				o.Settings.Graph = r.membership()
				r.create(o, true)
			}
		}
	}
	for n := range 1 + r.random.IntN(8) {
		o := desiredObject(0, graphStages[r.random.IntN(3)], fmt.Sprintf("n%d", n))
		o.Settings.Graph = r.membership()
		r.depend(&o, r.objects)
		// Some objects were rendered before, and are not rendered any more.
		r.create(o, r.chance(80))
	}
	return r
}

// membership returns the settings of an object that depends on no other, and that is at random in a group.
func (r *randomGraph) membership() *manifests.GraphSettings {
	if group := []string{"a", "b"}[r.random.IntN(2)]; r.chance(25) && !r.closed[group] {
		return &manifests.GraphSettings{Group: group}
	}
	return &manifests.GraphSettings{}
}

// depend makes an object depend at random on some of the given objects, on their groups, and on objects and groups that
// do not exist.
func (r *randomGraph) depend(o *manifests.Object, objects []manifests.Object) {
	var found []manifests.Dependency
	for _, i := range r.random.Perm(len(objects))[:min(len(objects), 1+r.random.IntN(3))] {
		key := objects[i].Key
		if r.chance(50) {
			key.Namespace = ""
		}
		found = append(found, manifests.Dependency{Key: key, Optional: r.chance(25)})
	}
	members := r.membersOf(objects)
	for _, group := range []string{"a", "b"} {
		if o.Settings.Graph.Group != group && r.isEarlier(group, o.Key) && r.chance(20) {
			found = append(found, manifests.Dependency{Group: group, Optional: len(members[group]) == 0 || r.chance(50)})
			r.closed[group] = true
		}
	}
	if len(found) == 0 || r.chance(10) {
		found = append(found, manifests.Dependency{Group: "none", Optional: true})
	}
	o.Settings.Graph = &manifests.GraphSettings{
		Group: o.Settings.Graph.Group, DependsOn: found, List: settingtext.JoinDependencies(found),
	}
}

// isEarlier reports whether all objects of a group were created before an object, so that it may depend on the group.
func (r *randomGraph) isEarlier(group string, key manifests.Key) bool {
	own := slices.IndexFunc(r.created, func(o manifests.Object) bool { return o.Key == key })
	return own < 0 || !slices.ContainsFunc(r.created[own:], func(o manifests.Object) bool {
		return o.DependencyGroup() ==
			group
	})
}

// membersOf returns the objects of each group.
func (r *randomGraph) membersOf(objects []manifests.Object) map[string][]manifests.Key {
	members := map[string][]manifests.Key{}
	for _, o := range objects {
		members[o.DependencyGroup()] = append(members[o.DependencyGroup()], o.Key)
	}
	return members
}

// create adds an object in a random state to the world and the inventory, and to the rendered objects.
func (r *randomGraph) create(o manifests.Object, rendered bool) {
	if len(o.Types) == 0 {
		if r.chance(30) {
			o.Settings.Rare = &manifests.RareSettings{PrunePolicy: metav1alpha1.PruneAtOnce}
		}
		if r.chance(10) {
			o.Settings.DeletePolicy = metav1alpha1.DeleteOrphan
		}
		if r.chance(10) {
			o.Settings.Graph.Timeout = 2 * time.Second
		}
		if r.chance(30) {
			r.world.gone[o.Key] = []GoneState{GoneHolds, GoneWaits}[r.random.IntN(2)]
			r.world.goneUnread[o.Key] = r.chance(30)
		}
	}
	r.world.slow[o.Key], r.world.held[o.Key] = r.chance(30), r.chance(40)
	r.world.lasting[o.Key] = r.random.IntN(3)
	if r.chance(10) {
		r.world.unwatched[o.Key] = true
	}
	r.addState(o, rendered)
	r.created = append(r.created, o)
	if rendered {
		r.objects = append(r.objects, o)
	}
}

// addState adds an object in a random state to the world and the inventory.
func (r *randomGraph) addState(o manifests.Object, rendered bool) {
	key, before := o.Key, o
	if r.chance(30) {
		before.Digest = "d0"
		if len(o.Types) == 0 && r.chance(50) {
			r.depend(&before, r.created)
		}
	}
	switch r.random.IntN(8) {
	case 0, 1:
	case 2:
		r.applied(before)
	case 3: // A crash prevented a write, for which previous and new dependencies were recorded.
		r.applied(before)
		if previous := o; len(o.Types) == 0 {
			r.depend(&previous, r.created)
			e := r.inventory[key]
			e.DependsOn = joinDependencies(e.DependsOn, dependenciesOf(&previous))
			r.inventory[key] = e
		}
	case 4:
		r.world.drift(r.applied(before))
	case 5: // A crash prevented the record of the response.
		r.applied(before)
		e := r.inventory[key]
		e.UID, e.Digest, e.Fields = "", "", ""
		r.inventory[key] = e
	case 6:
		x := r.applied(before)
		x.state = ready.InProgress
		x.terminating = r.chance(30)
	case 7:
		if rendered && r.chance(30) {
			r.world.add(key, them, "theirs")
			r.theirs[key] = true
		}
	}
}

// startRound resolves the dependencies of the objects, and sets the desired objects by their outcomes. The caller sets
// the outcomes.
func (r *randomGraph) startRound() {
	r.desired, r.excluded, r.unbound = nil, map[manifests.Key]bool{}, map[manifests.Key]Unbound{}
	clear(r.world.named)
	for _, o := range r.objects {
		switch _, recorded := r.inventory[o.Key]; r.outcomes[o.Key] {
		case outcomeExcluded, outcomeReleased:
			r.excluded[o.Key] = r.outcomes[o.Key] == outcomeExcluded
			continue
		case outcomeInactive:
			if !recorded {
				continue
			}
			o.Held = &manifests.Held{}
		case outcomeUndecided:
			o.Held = &manifests.Held{Undecided: "a value is missing", Transient: r.chance(50)}
		case outcomeUnbound:
			r.unbound[o.Key] = Unbound{Message: "a value is missing", Failed: r.chance(20)}
		case outcomeObserved:
			r.world.named[o.Key] = true
			o.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
		case outcomeApplied:
		}
		if o.Held == nil {
			o.Undecided = r.undecidedBy(o)
		}
		r.desired = append(r.desired, o)
	}
	r.before, r.recorded = map[manifests.Key]thing{}, maps.Clone(r.inventory)
	for key, x := range r.world.objects {
		r.before[key] = *x
	}
	r.log += fmt.Sprintf("round: outcomes %v, open %v\n", r.outcomes, r.open != nil)
}

// undecidedBy returns an object whose condition has no value, and that an object depends on, also indirectly; nil if
// there is none.
func (r *randomGraph) undecidedBy(o manifests.Object) *manifests.Key {
	for _, d := range dependenciesOf(&o) {
		for _, key := range d.In(o.Key.Namespace) {
			i := slices.IndexFunc(r.objects, func(on manifests.Object) bool { return on.Key == key })
			if d.Optional || i < 0 || !slices.Contains(o.Edges(), key) {
				continue
			}
			if r.outcomes[key] == outcomeUndecided {
				return &key
			}
			if by := r.undecidedBy(r.objects[i]); by != nil {
				return by
			}
		}
	}
	return nil
}

// resolve sets the edges of the rendered objects.
func (r *randomGraph) resolve() {
	members := r.membersOf(r.objects)
	for i := range r.objects {
		o := &r.objects[i]
		if !o.InGraph() {
			continue
		}
		var edges []manifests.Key
		for _, d := range o.Settings.Graph.DependsOn {
			if d.Group != "" {
				edges = append(edges, members[d.Group]...)
			}
			for _, key := range d.In(o.Key.Namespace) {
				if r.isRendered(key) {
					edges = append(edges, key)
				}
			}
		}
		slices.SortFunc(edges, manifests.Key.Compare)
		graph := *o.Settings.Graph
		graph.Edges = slices.Compact(edges)
		o.Settings.Graph = &graph
	}
}

func (r *randomGraph) isRendered(key manifests.Key) bool {
	return slices.ContainsFunc(r.objects, func(o manifests.Object) bool { return o.Key == key })
}

// change changes some manifests and their dependencies, lets other clients change and delete some live objects, and
// makes some types unavailable for a while.
func (r *randomGraph) change() {
	r.objects = slices.DeleteFunc(r.objects, func(o manifests.Object) bool { return len(o.Types) == 0 && r.chance(10) })
	for i := range r.objects {
		o := &r.objects[i]
		if o.InGraph() && (r.chance(15) || r.dangles(*o)) {
			r.depend(o, r.objects[:i])
			r.newDigest(o)
		} else if r.chance(15) {
			r.newDigest(o)
		}
	}
	for _, key := range sortedKeys(r.world.objects) {
		switch x := r.world.objects[key]; {
		case r.theirs[key]:
		case r.chance(10):
			r.world.drift(x)
		case r.chance(5):
			delete(r.world.objects, key)
		}
		if r.chance(10) {
			r.world.blind[key] = true
		}
	}
}

// newDigest changes the manifest of an object.
func (r *randomGraph) newDigest(o *manifests.Object) {
	r.digests++
	o.Digest = fmt.Sprintf("d1-%d", r.digests)
}

// dangles reports whether an object depends on an object or group that is not rendered any more.
func (r *randomGraph) dangles(o manifests.Object) bool {
	members := r.membersOf(r.objects)
	return slices.ContainsFunc(o.Settings.Graph.DependsOn, func(d manifests.Dependency) bool {
		exists := d.Group != "" && len(members[d.Group]) > 0 || slices.ContainsFunc(d.In(o.Key.Namespace), r.isRendered)
		return !d.Optional && !exists
	})
}
