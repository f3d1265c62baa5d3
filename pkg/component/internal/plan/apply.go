package plan

import (
	"maps"
	"slices"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ForApply plans the next actions of an apply. The waves are applied in order, and the stages of each wave in order.
// Each wave is followed by its purges: the deletion of the objects whose purge order is that wave. Repairs are the
// exception: they do not wait for earlier waves. Objects that depend on other objects belong to no wave; see
// applyGraph. When everything is ready, the recorded objects that are no longer desired are removed. Objects with the
// prune policy at-once are removed earlier.
func ForApply(f Facts) Plan {
	f = refuseSameObjects(f)
	p := newPlan(f)
	p.followNamespaces(f)
	p.Held = f.Hold
	p.Desired, p.Applied, p.occurrences = CountObjects(f.Desired), true, occurrencesOf(f.Desired)
	p.LeftOut = f.LeftOut
	if p.removeGuardOfDesired(f); len(p.Actions) > 0 {
		p.Repairs = f.Repairs
		return p
	}
	g := gate{holds: f.Hold}
	inWaves, inGraph := splitGraph(f.Desired)
	p.dependencies = newDependencies(inGraph)
	purges := purgesOf(inWaves)
	for group := range stages(inWaves) {
		if next := group[0].Settings.Order; g.ends(next) && g.passed() {
			g.earlier = !p.purge(f, purges, next-1)
		}
		g.enter(group[0])
		p.applyStage(f, &g, group)
	}
	if g.passed() {
		p.purge(f, purges, settingtext.MaxOrder)
	}
	p.applyGraph(f, inGraph)
	p.recordNamespaces()
	p.collectPhases(f)
	p.resetCompleted(f)
	p.markUndefined(f)
	p.leaveOutExcluded(f)
	p.prune(f)
	p.noteBegun()
	return p
}

// newPlan returns a plan without actions, with a copy of the recorded inventory. If this pass has removed the admission
// guard, the copy contains no entry with the field Guarded set.
func newPlan(f Facts) Plan {
	p := Plan{Inventory: maps.Clone(f.Inventory), Repairs: map[manifests.Key]Repairs{}}
	if p.Inventory == nil {
		p.Inventory = Inventory{}
	}
	if r := f.Results[f.Guard.Key()]; r.Verb == VerbUnguard && r.Failure == nil {
		p.Inventory.clearGuarded()
	}
	return p
}

// prune removes recorded objects that are no longer desired, unless only repairs are made. While the component waits
// for other objects, prune removes only excluded objects, and the objects whose prune policy is at-once. While exports
// are open, it removes only excluded objects; see openSet.
func (p *Plan) prune(f Facts) {
	if len(p.Waiting) > 0 {
		p.Waiting = withHolders(f, p.Waiting, Removals(p.Inventory, f.Desired))
	}
	if f.Hold {
		return
	}
	removals := releaseObserved(f, p.dropRegrouped(f, Removals(p.Inventory, f.Desired)))
	if len(f.Open) > 0 {
		p.openSet(f, removals)
		return
	}
	if len(p.Actions) > 0 || len(p.Waiting) > 0 {
		p.pruneAtOnce(f, removals)
		return
	}
	if !p.mustWait(f, removals, ReasonPruned) {
		p.removeAll(f, removals, ReasonPruned)
	}
}

// releaseObserved returns removals that orphan the objects that the component only observes from now on, although their
// condition include-when is false.
func releaseObserved(f Facts, removals []metav1alpha1.InventoryEntry) []metav1alpha1.InventoryEntry {
	for i := range removals {
		if deletes, excluded := f.Excluded[KeyOf(removals[i])]; excluded && !deletes {
			removals[i].DeletePolicy = metav1alpha1.DeleteOrphan
		}
	}
	return removals
}

// pruneAtOnce adds the removal of those objects whose prune policy is at-once to a plan that has other actions, or
// waits for other objects. An object on which an object of all depends waits until that object no longer exists.
func (p *Plan) pruneAtOnce(f Facts, all []metav1alpha1.InventoryEntry) {
	g := newRemovalGraph(all)
	atOnce := slices.DeleteFunc(
		slices.Clone(all),
		func(e metav1alpha1.InventoryEntry) bool { return !isPrunedAtOnce(f, e) },
	)
	removals := g.unheld(atOnce)
	q := Plan{Inventory: p.Inventory}
	if !q.mustWait(f, removals, ReasonPruned) {
		q.removeInOrder(f, g, removals, ReasonPruned)
	}
	p.Actions, p.Waiting = append(p.Actions, q.Actions...), append(p.Waiting, q.Waiting...)
	p.Blocked = append(p.Blocked, q.Blocked...)
}

// recordedPrunePolicy returns the prune policy as the inventory contains it. The default is an empty string there.
func recordedPrunePolicy(own metav1alpha1.PrunePolicy) metav1alpha1.PrunePolicy {
	if own == metav1alpha1.PruneWhenReady {
		return ""
	}
	return own
}

// isPrunedAtOnce reports whether a recorded object is removed as soon as it is not desired. While exports are open, the
// prune policy does not count. An object that contains or defines other objects is always removed last.
func isPrunedAtOnce(f Facts, e metav1alpha1.InventoryEntry) bool {
	key := KeyOf(e)
	_, excluded := f.Excluded[key]
	atOnce := e.PrunePolicy == metav1alpha1.PruneAtOnce && len(f.Open) == 0
	return (atOnce || excluded) && len(e.Types) == 0 && !IsNamespace(key)
}

// applyStage decides about each object of a stage. The caller must call g.enter for the stage first. The actions of the
// stage become the actions of the plan, unless the plan already has actions of an earlier stage.
func (p *Plan) applyStage(f Facts, g *gate, group []manifests.Object) {
	var actions []Action
	for i := range group {
		if group[i].Held != nil {
			undecided := p.leave(f, &group[i])
			waitsForValue := undecided && group[i].ReadsExports()
			g.unbound = g.unbound || waitsForValue
			g.unapplied[g.stage] = g.unapplied[g.stage] || undecided && !waitsForValue
			continue
		}
		c, ok := p.candidate(f, g, &group[i])
		if !ok {
			p.dependencies.postpone(group[i].Key, notApplied)
			continue
		}
		d := decide(applyRules, c)
		p.collect(f, c, d)
		p.add(c, d)
		p.dependencies.enter(c, d)
		g.count(c, d)
		if d.action != nil && (d.repair || g.open()) {
			actions = addAction(actions, *d.action)
		}
	}
	p.begin(actions)
}

// undecidedRetry is the time after which a condition is evaluated again that failed for a reason that may have ended,
// such as a failure of discovery.
const undecidedRetry = 30 * time.Second

// leave leaves a held object as it is. It reports whether the object delays others, because a condition of the object
// has no value.
func (p *Plan) leave(f Facts, o *manifests.Object) (undecided bool) {
	if o.Settings.IsObserved() {
		p.Observed = append(p.Observed, observedEntry(o))
	}
	if o.Held.Undecided == "" {
		p.Inventory.leaveOut(o.Key)
		if o.Occurrence == 0 {
			p.Desired--
		}
		return false
	}
	p.Applied = false
	p.Waiting = append(p.Waiting, Waiting{
		Key: o.Key, Wave: o.Settings.Order, Reason: WaitUndecided, Message: o.Held.Undecided,
	})
	p.dependencies.postpone(o.Key, o.Held.Undecided)
	if o.Held.Transient {
		p.planAgainAt(f.Now.Add(undecidedRetry))
	}
	return true
}

// candidate returns the candidate for an object in the stage of the gate. ok is false if there is no decision about
// this occurrence of the object, because the occurrence is over, or because its stage still waits.
func (p *Plan) candidate(f Facts, g *gate, o *manifests.Object) (c candidate, ok bool) {
	c = newCandidate(f, o)
	c.attempts, c.last = maxAttempts*p.occurrences.several(o.Key), p.occurrences.isLast(o)
	switch current := p.occurrences.current(f, o.Key, p.Inventory[o.Key]); {
	case o.Occurrence < current:
		return c, false
	case o.Occurrence > current && !g.open():
		g.unapplied[g.stage], g.unready[g.stage], p.Applied = true, true, false
		return c, false
	case o.Occurrence > current:
		p.advance(f, o)
		c.entry = p.Inventory[o.Key]
		c.sameInputs = c.isSameInputs()
	}
	return c, true
}

// CountObjects returns the number of objects in a set. An object with several occurrences is counted once.
func CountObjects(objects []manifests.Object) int {
	count := 0
	for i := range objects {
		if objects[i].Occurrence == 0 {
			count++
		}
	}
	return count
}

// add adds the decision about a desired object to the plan. An object without an inventory entry gets one now, because
// the entry must be written before the object.
func (p *Plan) add(c candidate, d decision) {
	if c.object.Settings.IsObserved() {
		p.addObserved(c, d)
		return
	}
	if c.object.Scope != manifests.ScopeUnknown {
		if _, recorded := p.Inventory[c.object.Key]; !recorded && !p.Held {
			p.WriteInventory = true
			p.Inventory[c.object.Key] = c.newEntry()
			p.Inventory.notePossibleGuard(c, c.live.Presence == Present)
		}
		p.Inventory.notePossibleGuard(c, d.action != nil && d.action.Reason.AdoptsUnowned())
	}
	if d.entry != nil {
		p.replaceEntry(c, *d.entry)
	}
	p.updateEntry(c, d.action == nil && (d.waiting == nil || d.applied) && c.unbound == nil)
	p.scheduleTimeout(c, d)
	p.scheduleLeftAlone(c)
	inConflict := p.noteRepairs(c, d)
	switch {
	case d.action != nil:
		p.Applied = false
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
		p.Applied = p.Applied && d.applied
	case !inConflict && c.last:
		p.Ready++
	}
}

// replaceEntry replaces the entry of an object. A failure must be in the inventory before the failed object is deleted.
func (p *Plan) replaceEntry(c candidate, e metav1alpha1.InventoryEntry) {
	p.WriteInventory = p.WriteInventory || e.Failed != "" && e.Failed != c.entry.Failed
	p.Inventory[c.object.Key] = e
}

// updateEntry updates the fields of an inventory entry that can change without a write to the object: the policies for
// its removal, the unserved state, and that no condition leaves the object out. If the object is in sync, it also
// updates the revision, the orders and the start of the reapply interval.
func (p *Plan) updateEntry(c candidate, inSync bool) {
	e, recorded := p.Inventory[c.object.Key]
	if !recorded {
		return
	}
	e.DeletePolicy, e.PrunePolicy = c.deletion, recordedPrunePolicy(c.object.Settings.PrunePolicy())
	e.DependencyGroup, e.LeftOut = c.object.DependencyGroup(), false
	e.Unserved = c.unserved()
	if inSync {
		e = inSyncEntry(c, e)
		p.scheduleReapply(c, e)
	}
	p.Inventory[c.object.Key] = e
}

// stages yields the objects of each stage of each wave, in order.
func stages(desired []manifests.Object) func(yield func([]manifests.Object) bool) {
	return func(yield func([]manifests.Object) bool) {
		for start := 0; start < len(desired); {
			end := start + 1
			for end < len(desired) && sameStage(desired[start], desired[end]) {
				end++
			}
			if !yield(desired[start:end]) {
				return
			}
			start = end
		}
	}
}

func sameStage(a, b manifests.Object) bool {
	return a.Settings.Order == b.Settings.Order && a.Stage == b.Stage
}

// gate decides whether the objects of a stage may be written, or must wait for earlier stages and waves. The caller
// calls enter for each stage, and then count for the decision about each object of that stage.
type gate struct {
	// holds is set if the gate stays closed; see Facts.Hold.
	holds   bool
	wave    int
	stage   manifests.Stage
	started bool
	// earlier is set if an earlier wave is not ready.
	earlier bool
	// unbound is set if an object of the current wave waits for values that it or its condition uses. Later waves wait;
	// later stages of the same wave do not, because they may export these values.
	unbound bool
	// unapplied and unready are indexed by stage. unapplied is set if an object of this stage in the current wave is
	// not applied, and unready is set if such an object is not ready.
	unapplied, unready [manifests.StageInstances + 1]bool
}

// enter makes the stage of o the current stage.
func (g *gate) enter(o manifests.Object) {
	if g.ends(o.Settings.Order) {
		g.earlier = !g.passed()
		g.unbound = false
		g.unapplied, g.unready = [len(g.unapplied)]bool{}, [len(g.unready)]bool{}
	}
	g.started, g.wave, g.stage = true, o.Settings.Order, o.Stage
}

// ends reports whether an object with this apply order belongs to a wave other than the current wave.
func (g *gate) ends(order int) bool { return g.started && order != g.wave }

// passed reports whether the current wave and all earlier waves are applied and ready.
func (g *gate) passed() bool {
	ok := !g.holds && !g.earlier && !g.unbound
	for s := range g.unready {
		ok = ok && !g.unready[s] && !g.unapplied[s]
	}
	return ok
}

// count notes whether the decision about an object leaves the current stage unapplied or not ready.
func (g *gate) count(c candidate, d decision) {
	if waitsForValues(d) {
		g.unbound = true
		return
	}
	if d.action != nil || d.waiting != nil && !d.applied {
		g.unapplied[g.stage] = true
	}
	if (d.action != nil || d.waiting != nil) && !waitsForConsumer(c, d) {
		g.unready[g.stage] = true
	}
}

// waitsForConsumer reports whether an object is a PersistentVolumeClaim that is applied and not bound. Later stages and
// waves do not wait for such a claim: by its storage class, it may be bound only when a Pod of a later wave uses it.
func waitsForConsumer(c candidate, d decision) bool {
	return IsClaim(c.object.Key) && d.applied && d.waiting != nil && d.waiting.Failure == nil
}

// open reports whether the objects of the current stage may be written: all earlier waves are ready, all earlier stages
// of this wave are applied, and the earlier stages for which Stage.NeedsReady returns true are ready.
func (g *gate) open() bool {
	if g.holds || g.earlier {
		return false
	}
	for s := range g.stage {
		if g.unapplied[s] || g.unready[s] && g.stage.NeedsReady(s) {
			return false
		}
	}
	return true
}
