package plan

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// rulePurged leaves alone what is recorded as purged, whether it is gone already or not: creating it again would run it again. It lasts until
// the reconcile policy would apply the object again.
func rulePurged(c candidate) (decision, bool) {
	return decision{}, purges(c.object) && c.entry.Completed && !c.appliesAgain()
}

// purges says that an object is deleted again at the end of a wave. What holds other objects is not: its purge order is refused before.
func purges(o *manifests.Object) bool {
	return o.Settings.PurgeOrder != nil && len(o.Types) == 0 && !IsNamespace(o.Key)
}

// purgesOf returns the objects that are purged, those of lower waves first.
func purgesOf(desired []manifests.Object) []*manifests.Object {
	var found []*manifests.Object
	for i := range desired {
		if purges(&desired[i]) {
			found = append(found, &desired[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *manifests.Object) int { return cmp.Compare(*a.Settings.PurgeOrder, *b.Settings.PurgeOrder) })
	return found
}

// purge deletes what is to be gone at the end of a wave, all of which is ready, and of the waves before it: of a wave when that of the one
// before is gone, also where these waves apply nothing. It says whether nothing is left to do and to wait for.
func (p *Plan) purge(f Facts, purges []*manifests.Object, wave int) (done bool) {
	for start := 0; start < len(purges) && *purges[start].Settings.PurgeOrder <= wave; {
		end := start + 1
		for end < len(purges) && *purges[end].Settings.PurgeOrder == *purges[start].Settings.PurgeOrder {
			end++
		}
		if !p.purgeWave(f, purges[start:end]) {
			return false
		}
		start = end
	}
	return true
}

// purgeWave deletes what is to be gone at the end of one wave. Before an object is deleted, it is recorded as completed: a crash in between must not run it again. When it is confirmed gone, or belongs
// to somebody else, its UID is dropped from the record, and nobody looks at it any more.
func (p *Plan) purgeWave(f Facts, purges []*manifests.Object) (done bool) {
	var actions []Action
	done = true
	for _, o := range purges {
		e := p.Inventory[o.Key]
		if e.Completed && e.UID == "" {
			continue
		}
		v := newRemoval(f, e, ReasonPurged)
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
func (p *Plan) resetCompleted() {
	for _, a := range p.Actions {
		if e := p.Inventory[a.Key]; a.Verb == VerbCreate && e.Completed {
			e.Completed, e.Digest = false, ""
			p.Inventory[a.Key] = e
			p.Record = true
		}
	}
}
