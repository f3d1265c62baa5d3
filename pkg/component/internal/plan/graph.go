package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// splitGraph separates the objects of waves from the objects that depend on others, which come last in an apply set,
// each after its dependencies; see normalise.Manifests.
func splitGraph(desired []manifests.Object) (inWaves, inGraph []manifests.Object) {
	first := slices.IndexFunc(desired, manifests.Object.InGraph)
	if first < 0 {
		return desired, nil
	}
	return desired[:first], desired[first:]
}

// dependencies are the states of the objects that other objects depend on, by key. An object that is missing in the
// apply set has the zero state.
type dependencies map[manifests.Key]dependency

// dependency is the state of an object that others depend on. The zero value is an object that holds up no other.
type dependency struct {
	// unmet is set if the object is not applied, or not ready. failed is set if the object failed.
	unmet, failed bool
	// cause is the object that holds up the dependents of this object: this object, or the object that it waits for.
	cause manifests.Key
	// message says why the cause is not applied or not ready.
	message string
}

// newDependencies returns the objects that others depend on, without a state. It returns nil if there are none.
func newDependencies(inGraph []manifests.Object) dependencies {
	if len(inGraph) == 0 {
		return nil
	}
	ds := make(dependencies, len(inGraph))
	for i := range inGraph {
		for _, key := range inGraph[i].Edges() {
			ds[key] = dependency{}
		}
	}
	return ds
}

// postpone notes that an object, or an occurrence of it, is not applied yet, for the reason in the message.
func (ds dependencies) postpone(key manifests.Key, message string) {
	if _, wanted := ds[key]; wanted {
		ds[key] = dependency{unmet: true, cause: key, message: message}
	}
}

const notApplied = "it is not applied yet"

// enter notes the state of an object, given the decision about it. Like later waves, dependents do not wait for a claim
// that may be bound only when a Pod uses it.
func (ds dependencies) enter(c candidate, d decision) {
	key := c.object.Key
	if _, wanted := ds[key]; !wanted {
		return
	}
	state := dependency{unmet: true, cause: key}
	switch {
	case d.waiting != nil && waitsForConsumer(c, d):
		state = dependency{}
	case d.waiting != nil:
		state.failed = d.waiting.Failure != nil
		state.message = Shorten(cmp.Or(d.waiting.Message, string(d.waiting.Reason)), maxFailure)
	case d.action != nil:
		state.message = notApplied
	case !c.last:
		state.message = "it is applied again in a later wave"
	default:
		state = dependency{}
	}
	ds[key] = state
}

// applyGraph decides about the objects that depend on others. Such an object is applied when the objects of its edges
// are applied and ready, whatever the waves do, and no wave waits for it. An object that is only observed counts as not
// ready until then. Until then it is held up, with the objects
// that depend on it and no others. Repairs do not wait.
func (p *Plan) applyGraph(f Facts, inGraph []manifests.Object) {
	for i := range inGraph {
		if inGraph[i].Held != nil {
			p.leave(f, &inGraph[i])
			continue
		}
		c := newCandidate(f, &inGraph[i])
		d := decide(applyRules, c)
		p.collect(f, c, d)
		h, held := p.dependencies.holdUp(c.object)
		held = held && waitsForDependencies(c, d)
		switch {
		case held:
			d = p.hold(c, WaitDependency, h.String())
		case waitsForValues(d) && !d.applied && d.waiting.Failure == nil:
			d = p.hold(c, d.waiting.Reason, d.waiting.Message)
		}
		p.add(c, d)
		if p.dependencies.enter(c, d); held {
			p.dependencies.inherit(c.object.Key, h)
		}
		if d.action != nil && (d.repair || !f.Hold) {
			p.Actions = addAction(p.Actions, *d.action)
			p.noteDependencies(c, *d.action)
		}
	}
}

// waitsForDependencies reports whether a decision about an object must wait for its dependencies: a write that is no
// repair, a create that waits for a condition, and the readiness of an observed object.
func waitsForDependencies(c candidate, d decision) bool {
	undecided := d.waiting != nil && d.waiting.Reason == WaitUndecided
	return undecided || d.action != nil && !d.repair || d.action == nil && c.object.Settings.IsObserved()
}

// holdUp is why an object is held up by its dependencies.
type holdUp struct {
	// edge is the dependency, and more the number of other dependencies that hold up the object.
	edge  manifests.Key
	more  int
	state dependency
}

// holdUp returns the dependency that holds up an object: a failed dependency, or else the first. held is false if all
// dependencies are met.
func (ds dependencies) holdUp(o *manifests.Object) (h holdUp, held bool) {
	for _, key := range o.Edges() {
		state := ds[key]
		if !state.unmet {
			continue
		}
		if !held || state.failed && !h.state.failed {
			h.edge, h.state = key, state
		}
		if held {
			h.more++
		}
		held = true
	}
	return h, held
}

// inherit notes that the dependents of a held-up object are held up by the same cause.
func (ds dependencies) inherit(key manifests.Key, h holdUp) {
	if state, wanted := ds[key]; wanted {
		state.cause, state.message, state.failed = h.state.cause, h.state.message, h.state.failed
		ds[key] = state
	}
}

// String returns the message about a held-up object: the dependency, and the cause if it is another object.
func (h holdUp) String() string {
	cause, more := "", ""
	if h.state.cause != h.edge {
		cause = ", which is held up by " + h.state.cause.String()
	}
	if h.more > 0 {
		more = fmt.Sprintf(" (and for %d more)", h.more)
	}
	return "waits for " + h.edge.String() + cause + ": " + h.state.message + more
}

// hold returns the decision about an object that is held up: a wait, or a failure if the wait has timed out. The start
// of the wait is stored only if the wait has a timeout.
func (p *Plan) hold(c candidate, reason WaitReason, message string) decision {
	timeout := c.object.Settings.Graph.Timeout
	if timeout <= 0 {
		return c.wait(reason, message)
	}
	e, recorded := p.Inventory[c.object.Key]
	if !recorded {
		e = c.newEntry()
	}
	start := c.heldSince(e)
	e.HeldSince = fmt.Sprintf("%d/%d", start.Unix(), c.revision)
	due := start.Add(timeout)
	d := c.wait(reason, message)
	if !c.now.Before(due) {
		d = c.fail(Failure{
			Class:  Terminal,
			Reason: WaitTimeout,
			Message: fmt.Sprintf(
				"its dependencies are not ready within %s: %s; it is applied as soon as they are ready",
				timeout,
				message,
			),
		})
	} else {
		p.planAgainAt(due)
	}
	d.entry = &e
	return d
}

// heldSince returns the start of the wait for the dependencies: the time at which a pass first held up the object in
// this revision. The time is rounded up, so that a short timeout does not end immediately.
func (c candidate) heldSince(e metav1alpha1.InventoryEntry) time.Time {
	seconds, revision, _ := strings.Cut(e.HeldSince, "/")
	start, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || revision != strconv.FormatInt(c.revision, 10) {
		start = c.now.Add(time.Second - 1).Unix()
	}
	return time.Unix(start, 0)
}

// noteDependencies updates the entry of an object that is about to be written. Until the write is confirmed, the
// entry has the previous and the new dependencies, so that a deletion after a crash keeps the order of both.
func (p *Plan) noteDependencies(c candidate, a Action) {
	e, recorded := p.Inventory[c.object.Key]
	if !recorded || !a.Verb.Writes() {
		return
	}
	e.HeldSince = ""
	if e.DependsOn != c.object.DependsOn() {
		both := joinDependencies(e.DependsOn, c.object.Settings.Graph.DependsOn)
		p.WriteInventory = p.WriteInventory || both != e.DependsOn
		e.DependsOn = both
	}
	p.Inventory[c.object.Key] = e
}

// maxRecorded is the maximum number of previous and new dependencies in the entry of an object.
const maxRecorded = 200

// joinDependencies adds dependencies to recorded dependencies. If the recorded ones cannot be read, or together are
// more than maxRecorded, only the added ones remain.
func joinDependencies(recorded string, added []manifests.Dependency) string {
	previous, err := settingtext.ParseDependencies(recorded)
	if err != nil || len(previous)+len(added) > maxRecorded {
		return settingtext.JoinDependencies(added)
	}
	for _, d := range added {
		if !slices.Contains(previous, d) {
			previous = append(previous, d)
		}
	}
	return settingtext.JoinDependencies(previous)
}
