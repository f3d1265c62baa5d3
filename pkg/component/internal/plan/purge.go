package plan

import (
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rulePurged leaves alone what is recorded as purged, whether it is gone already or not: creating it again would run it again. It lasts until
// the reconcile policy would apply the object again.
func rulePurged(c candidate) (decision, bool) {
	return decision{}, purges(c.object) && c.entry.Completed && !c.renewed()
}

// purges says that an object is deleted again at the end of a wave. What holds other objects is not: its purge order is refused before.
func purges(o *manifests.Object) bool {
	return o.Settings.PurgeOrder != nil && len(o.Types) == 0 && !IsNamespace(o.Key)
}

// purgesOf returns the objects that are purged.
func purgesOf(desired []manifests.Object) []*manifests.Object {
	var found []*manifests.Object
	for i := range desired {
		if purges(&desired[i]) {
			found = append(found, &desired[i])
		}
	}
	return found
}

// purge deletes what is to be gone at the end of a wave, all of which is ready. It says whether nothing is left to do and to wait for.
// Before an object is deleted, it is recorded as completed: a crash in between must not run it again. When it is confirmed gone, or belongs
// to somebody else, its UID is dropped from the record, and nobody looks at it any more.
func (p *Plan) purge(f Facts, purges []*manifests.Object, wave int) (done bool) {
	var actions []Action
	done = true
	for _, o := range purges {
		e := p.Inventory[o.Key]
		if *o.Settings.PurgeOrder > wave || e.Completed && e.UID == "" {
			continue
		}
		v := newVictim(f, e, ReasonPurged)
		v.wave = *o.Settings.PurgeOrder
		d := decide(deleteRules, v)
		done = done && d.action == nil && d.waiting == nil
		switch {
		case d.action != nil:
			actions = append(actions, *d.action)
			p.Record = p.Record || !e.Completed
		case d.waiting != nil:
			p.Waiting = append(p.Waiting, *d.waiting)
			continue
		default:
			e.UID = ""
		}
		e.Completed = true
		p.Inventory[o.Key] = e
	}
	p.begin(actions)
	return done
}

// renew takes back that an object did its work before it is created again: from then on it may exist.
func (p *Plan) renew() {
	for _, a := range p.Actions {
		if e := p.Inventory[a.Key]; a.Verb == VerbCreate && e.Completed {
			e.Completed, e.Digest = false, ""
			p.Inventory[a.Key] = e
			p.Record = true
		}
	}
}
