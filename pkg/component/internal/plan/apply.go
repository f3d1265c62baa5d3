package plan

import (
	"maps"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ForApply plans the next actions of an apply. The waves are applied in order, and the stages of each wave in order.
// Each wave is followed by its purges: the deletion of the objects whose purge order is that wave. Repairs are the
// exception: they do not wait for earlier waves. When all waves are ready, the recorded objects that are no longer
// desired are removed.
func ForApply(f Facts) Plan {
	p := newPlan(f)
	p.Desired, p.Applied, p.occurrences = CountObjects(f.Desired), true, occurrencesOf(f.Desired)
	if p.removeGuardOfDesired(f); len(p.Actions) > 0 {
		p.Repairs = f.Repairs
		return p
	}
	var g gate
	purges := purgesOf(f.Desired)
	for group := range stages(f.Desired) {
		if next := group[0].Settings.Order; g.ends(next) && g.passed() {
			g.earlier = !p.purge(f, purges, next-1)
		}
		g.enter(group[0])
		p.applyStage(f, &g, group)
	}
	if g.passed() {
		p.purge(f, purges, manifests.MaxOrder)
	}
	p.resetCompleted(f)
	p.markUndefined(f)
	if len(p.Actions) == 0 && len(p.Waiting) == 0 {
		p.prune(f)
	}
	return p
}

// newPlan returns a plan without actions, with a copy of the recorded inventory. If this pass has removed the admission
// guard, the copy has no entry with the field Guarded set.
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

// prune removes recorded objects that are no longer desired.
func (p *Plan) prune(f Facts) {
	removals := Removals(p.Inventory, f.Desired)
	if !p.mustWait(f, removals, ReasonPruned) {
		p.removeAll(f, removals, ReasonPruned)
	}
}

// applyStage decides about each object of a stage. The caller must call g.enter for the stage first. The actions of the
// stage become the actions of the plan, unless the plan already has actions of an earlier stage.
func (p *Plan) applyStage(f Facts, g *gate, group []manifests.Object) {
	var actions []Action
	for i := range group {
		c, ok := p.candidate(f, g, &group[i])
		if !ok {
			continue
		}
		d := decide(applyRules, c)
		p.add(c, d)
		g.count(d)
		if d.action != nil && (d.repair || g.open()) {
			actions = addAction(actions, *d.action)
		}
	}
	p.begin(actions)
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

// add adds the decision about a desired object to the plan. An object that is not recorded yet gets an inventory entry
// now, because objects must be recorded before they are written.
func (p *Plan) add(c candidate, d decision) {
	if c.object.Scope != manifests.ScopeUnknown {
		if _, recorded := p.Inventory[c.object.Key]; !recorded {
			p.Record = true
			p.Inventory[c.object.Key] = c.newEntry()
			p.Inventory.recordPossibleGuard(c, c.live.Presence == Present)
		}
		p.Inventory.recordPossibleGuard(c, d.action != nil && d.action.Reason == ReasonAdopted)
	}
	if d.entry != nil {
		p.replaceEntry(c, *d.entry)
	}
	p.updateEntry(c, d.action == nil && (d.waiting == nil || d.applied))
	p.scheduleTimeout(c, d)
	inConflict := p.recordRepairs(c, d)
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

// replaceEntry replaces the entry of an object. A failure must be recorded before the failed object is deleted.
func (p *Plan) replaceEntry(c candidate, e metav1alpha1.InventoryEntry) {
	p.Record = p.Record || e.Failed != "" && e.Failed != c.entry.Failed
	p.Inventory[c.object.Key] = e
}

// updateEntry updates the fields of an inventory entry that can change without a write to the object: the delete policy
// and the unserved state. If the object is in sync, it also updates the revision, the orders and the start of the
// reapply interval.
func (p *Plan) updateEntry(c candidate, inSync bool) {
	e, recorded := p.Inventory[c.object.Key]
	if !recorded {
		return
	}
	e.DeletePolicy, e.Unserved = c.deletion, c.unserved()
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
	wave    int
	stage   manifests.Stage
	started bool
	// earlier is set if an earlier wave is not ready.
	earlier bool
	// unapplied and unready are indexed by stage. unapplied is set if an object of this stage in the current wave is
	// not applied, and unready is set if such an object is not ready.
	unapplied, unready [manifests.StageInstances + 1]bool
}

// enter makes the stage of o the current stage.
func (g *gate) enter(o manifests.Object) {
	if g.ends(o.Settings.Order) {
		g.earlier = !g.passed()
		g.unapplied, g.unready = [len(g.unapplied)]bool{}, [len(g.unready)]bool{}
	}
	g.started, g.wave, g.stage = true, o.Settings.Order, o.Stage
}

// ends reports whether an object with this apply order belongs to a wave other than the current wave.
func (g *gate) ends(order int) bool { return g.started && order != g.wave }

// passed reports whether the current wave and all earlier waves are applied and ready.
func (g *gate) passed() bool {
	ok := !g.earlier
	for s := range g.unready {
		ok = ok && !g.unready[s] && !g.unapplied[s]
	}
	return ok
}

// count records whether the decision about an object leaves the current stage unapplied or not ready.
func (g *gate) count(d decision) {
	if d.action != nil || d.waiting != nil && !d.applied {
		g.unapplied[g.stage] = true
	}
	if d.action != nil || d.waiting != nil {
		g.unready[g.stage] = true
	}
}

// open reports whether the objects of the current stage may be written: all earlier waves are ready, all earlier stages
// of this wave are applied, and the earlier stages for which Stage.NeedsReady returns true are ready.
func (g *gate) open() bool {
	if g.earlier {
		return false
	}
	for s := range g.stage {
		if g.unapplied[s] || g.unready[s] && g.stage.NeedsReady(s) {
			return false
		}
	}
	return true
}
