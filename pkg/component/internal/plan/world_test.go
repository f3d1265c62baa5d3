package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// world simulates a cluster for plans. It stores objects, carries out actions as an API server does, and simulates a
// watch that selects objects by our label.
type world struct {
	objects map[manifests.Key]*thing
	// blind are the objects whose type cannot be listed for a while. unwatched are the objects that cannot be watched,
	// but can be read.
	blind, unwatched map[manifests.Key]bool
	// slow are the objects that are not ready at once. held are the objects with finalizers of others. uncovered are
	// the objects whose fields we do not all own.
	slow, held, uncovered map[manifests.Key]bool
	// unreadable are the objects that we have no permission to read, and undeletable those that we have no permission to
	// delete.
	unreadable, undeletable map[manifests.Key]bool
	// named are the objects that a watch shows without our label, because it selects them by name.
	named map[manifests.Key]bool
	// gone are the states of the conditions gone-when, of the objects that have one. A watch does not show the states of
	// the objects in goneUnread. lasting is the time for which an object exists after its deletion.
	gone       map[manifests.Key]GoneState
	goneUnread map[manifests.Key]bool
	lasting    map[manifests.Key]int
	// probes is the number of probes of the guard.
	probes int
	// closed are namespaces that are being deleted, so that no object can be created in them.
	closed   map[string]bool
	sequence int
}

// thing is an object in the world.
type thing struct {
	uid         types.UID
	version     int
	owner       string
	digest      string
	fields      string
	values      string
	state       ready.State
	terminating bool
	// labelled is set if the object has our label, so that the watch shows the object.
	labelled bool
}

func newWorld() *world {
	return &world{
		objects: map[manifests.Key]*thing{}, blind: map[manifests.Key]bool{}, unwatched: map[manifests.Key]bool{},
		slow: map[manifests.Key]bool{}, held: map[manifests.Key]bool{}, uncovered: map[manifests.Key]bool{},
		unreadable: map[manifests.Key]bool{}, undeletable: map[manifests.Key]bool{}, closed: map[string]bool{},
		named: map[manifests.Key]bool{}, gone: map[manifests.Key]GoneState{}, goneUnread: map[manifests.Key]bool{},
		lasting: map[manifests.Key]int{},
	}
}

func (w *world) next() int {
	w.sequence++
	return w.sequence
}

// add adds an object to the world.
func (w *world) add(key manifests.Key, owner, digest string) *thing {
	n := w.next()
	x := &thing{
		uid: types.UID(fmt.Sprintf("uid-%d", n)), version: n, owner: owner, digest: digest, fields: "fields-" + digest,
		values: "values-" + digest,
		state:  ready.Ready, labelled: owner != "",
	}
	w.objects[key] = x
	return x
}

// touch simulates a write of the object by another client.
func (w *world) touch(x *thing) { x.version = w.next() }

// drift simulates that another client takes over one of our fields.
func (w *world) drift(x *thing) {
	x.fields, x.values = "fields-drifted", "values-drifted"
	w.touch(x)
}

func (w *world) observed(key manifests.Key) Observed {
	x := w.objects[key]
	if x == nil {
		return Observed{Presence: Absent}
	}
	o := Observed{
		Presence: Present, UID: x.uid, ResourceVersion: strconv.Itoa(x.version), Owner: x.owner, OwnerName: x.owner,
		Digest:  x.digest,
		Applied: x.fields, Updated: x.fields, Terminating: x.terminating,
		Readiness: ready.Result{State: x.state, Message: "it is " + string(x.state)},
	}
	if x.terminating {
		o.Gone = w.gone[key]
	}
	return o
}

// watched returns the state of an object as a watch shows it. The watch selects objects by our label, or by name.
func (w *world) watched(key manifests.Key) Observed {
	switch {
	case w.blind[key]:
		return Observed{Presence: Unknown, Reason: "ListFailed", Message: "no answer"}
	case w.unwatched[key]:
		return Observed{Presence: Unknown, Reason: WaitUnwatched, Message: "its type cannot be watched"}
	}
	if x := w.objects[key]; x != nil && !x.labelled && !w.named[key] {
		return Observed{Presence: Absent}
	}
	o := w.observed(key)
	if o.Gone != GoneUnset && w.goneUnread[key] {
		o.Gone = GoneUnread
	}
	return o
}

// read returns the result of a read action.
func (w *world) read(a Action) Result {
	if w.unreadable[a.Key] {
		return Result{Verb: VerbRead, Failure: &Failure{Class: Terminal, Reason: "Forbidden", Message: "it may not be read"}}
	}
	o := w.observed(a.Key)
	o.Confirmed, o.Mark = o.Presence == Absent, &ToolMark{}
	if a.Object != nil && o.Presence == Present {
		x := w.objects[a.Key]
		o.Values, o.Coverage = x.values, CoverageFull
		if w.uncovered[a.Key] || x.fields == "fields-drifted" {
			o.Coverage = CoveragePartial
		}
	}
	return Result{Verb: VerbRead, Observed: &o}
}

// perform carries out an action. If its preconditions are not met, perform reads the object instead, as the executor
// does.
func (w *world) perform(a Action) Result {
	x := w.objects[a.Key]
	switch a.Verb {
	case VerbRead, VerbCreateNamespace:
		return w.read(a)
	case VerbGuard, VerbProbe, VerbUnguard:
		return w.performGuard(a)
	case VerbCreate:
		if w.closed[a.Key.Namespace] {
			return Result{Verb: VerbCreate, Failure: &Failure{
				Class: Transient, Reason: WaitNamespaceTerminating,
				Message: "it is being deleted",
			}}
		}
		if x != nil {
			return w.read(a)
		}
		x = w.add(a.Key, "", "")
	case VerbApply, VerbReplace:
		if x == nil || x.uid != a.Preconditions.UID {
			return w.read(a)
		}
		w.touch(x)
	case VerbTryDelete, VerbDelete:
		if w.undeletable[a.Key] {
			return Result{Verb: a.Verb, Failure: &Failure{
				Class: Terminal, Reason: WaitForbidden,
				Message: "it may not be deleted",
			}}
		}
		if x == nil || x.uid != a.Preconditions.UID || strconv.Itoa(x.version) != a.Preconditions.ResourceVersion {
			return w.read(a)
		}
		if a.Verb == VerbTryDelete {
			return Result{Verb: a.Verb}
		}
		w.touch(x)
		if x.terminating = w.held[a.Key]; !x.terminating {
			delete(w.objects, a.Key)
		}
	case VerbOrphan:
		if x == nil || x.uid != a.Preconditions.UID || strconv.Itoa(x.version) != a.Preconditions.ResourceVersion {
			return w.read(a)
		}
		w.touch(x)
		x.owner, x.labelled, x.digest, x.fields = "", false, "", ""
	}
	if a.Object != nil {
		digest := a.Object.Digest
		// A write that changes nothing does not affect the readiness.
		changed := x.digest != digest || x.fields != "fields-"+digest
		x.owner, x.labelled, x.digest, x.fields, x.values = a.Owner, true, digest, "fields-"+digest, "values-"+digest
		if w.slow[a.Key] && changed {
			x.state = ready.InProgress
		}
	}
	result := w.read(a)
	result.Verb = a.Verb
	return result
}

// performGuard carries out an action on the guard. The second probe finds the guard in effect.
func (w *world) performGuard(a Action) Result {
	r := Result{Verb: a.Verb, Observed: &Observed{Presence: Absent}}
	switch {
	case a.Verb == VerbUnguard:
		w.probes = 0
	case a.Verb != VerbProbe:
	case w.probes > 0:
		r.Observed.Presence = Present
	default:
		w.probes++
	}
	return r
}

// passTime simulates that time passes: objects become ready, terminating objects disappear, and all types can be listed
// again.
func (w *world) passTime() {
	for _, key := range sortedKeys(w.objects) {
		x := w.objects[key]
		switch {
		case x.terminating && w.lasting[key] > 0:
			w.lasting[key]--
		case x.terminating:
			delete(w.objects, key)
		case x.state == ready.InProgress:
			x.state = ready.Ready
			w.touch(x)
		}
	}
	clear(w.blind)
}

// component is a component in a world, with the state that is kept between plans.
type component struct {
	world   *world
	desired []manifests.Object
	// excluded are the objects that are not desired because of their condition; see Facts.Excluded.
	excluded map[manifests.Key]bool
	// unbound are the objects with holes that are not filled; see Facts.Unbound.
	unbound map[manifests.Key]Unbound
	// open are the exports without a value that the rendering asked for; see Facts.Open.
	open      []OpenExport
	inventory Inventory
	foreign   map[manifests.ManagedType]ForeignInstances
	managed   []manifests.ManagedType
	contents  map[string]Contents
	deleting  bool
	// trigger identifies the state of the component; see Facts.Trigger.
	trigger string
	// guards is set if guards can be set up. guard is the state of the component's guard. clock is the time of the last
	// pass in seconds; each pass is a second after the previous pass.
	guards bool
	guard  Guard
	clock  int
	// preDelete and postDelete are the objects of the deletion phases.
	preDelete, postDelete []manifests.Object
	// orphans is set if the delete policy of the component is orphan.
	orphans bool
	// same is set if desired was rendered from the same inputs as the applied objects.
	same bool
	// repairs are the repairs of the last plan.
	repairs map[manifests.Key]Repairs
}

// revision returns 1 if desired was rendered from the same inputs as the applied objects, and 0 otherwise.
func (c *component) revision() int64 {
	if c.same {
		return 1
	}
	return 0
}

func (c *component) knownGuard() Guard {
	c.guard.Name, c.guard.Unavailable = "guard", !c.guards
	return c.guard
}

// pass makes plans and performs their actions until a plan contains no actions, as the applier does. onPlan is called
// for every plan with its facts, and may change the world before the actions are performed.
func (c *component) pass(onPlan func(Facts, Plan)) Plan {
	c.clock++
	results, recorded := map[manifests.Key]Result{}, maps.Clone(c.inventory)
	for key, e := range c.inventory {
		e.Revision = c.revision()
		c.inventory[key] = e
	}
	for {
		f := Facts{
			Adoptions: NewAdoptions(sceneOwner("here"), "shop", nil, ""),
			Owner:     us, Names: Names{All: true}, Defaults: Policies{
				Update:   metav1alpha1.UpdateSSAOverride,
				Adoption: metav1alpha1.AdoptIfUnowned,
			},
			PreDelete: c.preDelete, PostDelete: c.postDelete,
			Managed: c.managed, Desired: c.desired, Excluded: c.excluded, Unbound: c.unbound, Open: c.open,
			Revision: c.revision(), Inventory: c.inventory, Recorded: recorded, Results: results, Foreign: c.foreign,
			Contents: c.contents,
			Trigger:  c.trigger, Guard: c.knownGuard(), Repairs: c.repairs,
			Now: sceneTime.Add(time.Duration(c.clock) * time.Second),
		}
		f = f.seen(func(key manifests.Key) Observed {
			watched := c.world.watched(key)
			if o := results[key].Observed; o != nil && (watched.Presence != Present ||
				watched.ResourceVersion == o.ResourceVersion) {
				return *o
			}
			return watched
		})
		if c.orphans {
			f.Defaults.Delete = metav1alpha1.DeleteOrphan
		}
		planner := ForApply
		if c.deleting {
			planner = ForDelete
		}
		p := planner(f)
		onPlan(f, p)
		c.inventory, c.repairs = p.Inventory, p.Repairs
		if p.WriteInventory {
			recorded = p.Inventory
		}
		if len(p.Actions) == 0 {
			return p
		}
		for _, a := range p.Actions {
			r := c.world.perform(a)
			r.Attempts = results[a.Key].Attempts + 1
			if r.Observed == nil && r.Failure == nil {
				r.Observed = results[a.Key].Observed
			}
			results[a.Key] = r
			c.guard = f.Guard.After(a, r, f.Now)
			if kept, ok := a.Remembered(r); ok {
				c.repairs[a.Key] = kept
			}
		}
	}
}

func (w *world) clone() *world {
	c := *w
	c.objects = map[manifests.Key]*thing{}
	for key, x := range w.objects {
		copied := *x
		c.objects[key] = &copied
	}
	c.blind, c.unwatched = maps.Clone(w.blind), maps.Clone(w.unwatched)
	return &c
}

func sortedKeys[V any](m map[manifests.Key]V) []manifests.Key {
	return slices.SortedFunc(maps.Keys(m), manifests.Key.Compare)
}
