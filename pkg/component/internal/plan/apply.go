package plan

import (
	"maps"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// ForApply plans towards the apply set: repairs first where nothing stands in their way, then the stages of the waves in order, with what is
// purged at the end of each, and, once all of it is ready, what is to be pruned.
func ForApply(f Facts) Plan {
	p := Plan{Inventory: maps.Clone(f.Inventory), Repairs: map[manifests.Key]Repairs{}, Desired: len(f.Desired), Applied: true}
	if p.Inventory == nil {
		p.Inventory = Inventory{}
	}
	p.clearGuarded(f)
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
	p.resetCompleted()
	if len(p.Actions) == 0 && len(p.Waiting) == 0 {
		p = planPrune(f, p)
	}
	return p
}

// applyStage plans the objects of a stage, at which the gate stands. The actions are those of the plan where it has none yet.
func (p *Plan) applyStage(f Facts, g *gate, group []manifests.Object) {
	var actions []Action
	for i := range group {
		c := newCandidate(f, &group[i])
		d := decide(applyRules, c)
		p.note(c, d)
		g.note(d)
		if d.action != nil && (d.repair || g.open()) {
			actions = addAction(actions, *d.action)
		}
	}
	p.begin(actions)
}

// begin makes actions those of the plan, unless it has some that come before them.
func (p *Plan) begin(actions []Action) {
	if len(actions) > 0 && len(p.Actions) == 0 {
		p.Actions = actions
	}
}

// note enters a decision into the plan: the inventory knows every desired object before it is written.
func (p *Plan) note(c candidate, d decision) {
	if c.object.Scope != manifests.ScopeUnknown {
		if _, recorded := p.Inventory[c.object.Key]; !recorded {
			p.Record = true
			p.Inventory[c.object.Key] = c.newEntry()
			p.recordPossibleGuard(c, c.live.Presence == Present)
		}
		p.recordPossibleGuard(c, d.action != nil && d.action.Reason == ReasonAdopted)
	}
	if d.entry != nil {
		p.Inventory[c.object.Key] = *d.entry
	}
	p.updateEntry(c, d.action == nil && (d.waiting == nil || d.applied))
	inConflict := p.recordRepairs(c, d)
	switch {
	case d.action != nil:
		p.Applied = false
	case d.waiting != nil:
		p.Waiting = append(p.Waiting, *d.waiting)
		p.Applied = p.Applied && d.applied
	case !inConflict:
		p.Ready++
	}
}

// follow enters into the record of a desired object what needs no write to it: what becomes of it when it is no longer wanted, and, where
// it is in sync, the revision and its other settings.
func (p *Plan) updateEntry(c candidate, inSync bool) {
	e, recorded := p.Inventory[c.object.Key]
	if !recorded {
		return
	}
	e.DeletePolicy = c.deletion
	if inSync {
		e = c.inSyncEntry(e)
		p.scheduleReapply(c, e)
	}
	p.Inventory[c.object.Key] = e
}

// stages yields the objects of one wave and stage after the other.
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

// gate says whether the objects of the stage it stands at may be written.
type gate struct {
	wave    int
	stage   manifests.Stage
	started bool
	// earlier says that an earlier wave is not ready.
	earlier bool
	// unapplied and unready say it of the stages of this wave.
	unapplied, unready [manifests.StageInstances + 1]bool
}

// enter moves the gate to the stage of o.
func (g *gate) enter(o manifests.Object) {
	if g.ends(o.Settings.Order) {
		g.earlier = !g.passed()
		g.unapplied, g.unready = [len(g.unapplied)]bool{}, [len(g.unready)]bool{}
	}
	g.started, g.wave, g.stage = true, o.Settings.Order, o.Stage
}

// ends says that an object of that order begins another wave.
func (g *gate) ends(order int) bool { return g.started && order != g.wave }

// passed says that this wave, and all before it, are applied and ready.
func (g *gate) passed() bool {
	ok := !g.earlier
	for s := range g.unready {
		ok = ok && !g.unready[s] && !g.unapplied[s]
	}
	return ok
}

// note records the decision on an object of this stage.
func (g *gate) note(d decision) {
	if d.action != nil || d.waiting != nil && !d.applied {
		g.unapplied[g.stage] = true
	}
	if d.action != nil || d.waiting != nil {
		g.unready[g.stage] = true
	}
}

// open says whether everything is there that the stage depends on.
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

// newEntry is the record of an object that was never written.
func (c candidate) newEntry() metav1alpha1.InventoryEntry {
	o := c.object
	e := metav1alpha1.InventoryEntry{
		Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind, Namespace: o.Key.Namespace, Name: o.Key.Name,
		Revision: c.revision, Rendition: c.rendition, Order: o.Settings.Order, DeleteOrder: o.Settings.DeleteOrder, UpdatePolicy: o.Settings.UpdatePolicy,
		DeletePolicy: c.deletion, Phase: string(o.Settings.Phase),
	}
	for _, t := range o.Types {
		e.Types = append(e.Types, t.String())
	}
	return e
}
