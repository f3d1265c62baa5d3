package observe

import (
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// awaitGrace is how long an object must be without an owner before those get a turn who wait for it. Whoever had it may be about to come back: a
// component that is deleted and made anew, for one.
const awaitGrace = 2 * time.Second

// contest is an object that owners want although somebody else has it.
type contest struct {
	wantedBy map[string]bool
	// holder is who had the object last, as far as is known. Given says that it ended a pass since without having or wanting it.
	holder string
	given  bool
	// turns are when those are woken, each by the watch through which they see the object.
	turns map[*kind]*time.Timer
}

func (c *contest) heldBy(holder string) {
	if holder != "" && holder != c.holder {
		c.holder, c.given = holder, false
	}
}

// Await says which objects an owner wants that belong to somebody else, and who of this reconciler that is, "" where it is nobody of it. The owner
// is woken when one has been without an owner for a moment, as far as its watches show that, and who had it last has given it up, or is gone: as
// long as it may create the object anew, it comes first. It replaces what the owner awaited before.
func (o *Observer) Await(ownerID string, holders map[manifests.Key]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := o.owners[ownerID]
	if own == nil {
		return
	}
	former := own.awaits
	own.awaits = holders
	for key, holder := range holders {
		c := o.awaited[key]
		if c == nil {
			c = &contest{wantedBy: map[string]bool{}, turns: map[*kind]*time.Timer{}}
			o.awaited[key] = c
		}
		c.wantedBy[ownerID] = true
		c.heldBy(holder)
		// It may have gone since the pass looked. Of what was awaited already that was noted.
		_, awaited := former[key]
		if k := o.kinds[o.PlaceOf(key)][own.viewer.Name]; holder != "" && !awaited && k != nil && !k.shows(key) {
			k.freed(key)
		}
	}
	for key := range former {
		if _, wanted := holders[key]; !wanted {
			o.stopAwaiting(ownerID, key)
		}
	}
}

// stopAwaiting forgets that an owner awaits an object. The caller holds the lock.
func (o *Observer) stopAwaiting(ownerID string, key manifests.Key) {
	c := o.awaited[key]
	if delete(c.wantedBy, ownerID); len(c.wantedBy) == 0 {
		delete(o.awaited, key)
	}
}

// Holds says, at the end of a pass, of which objects an owner has a record, or wants them. Those who wait for another one that it had get a turn.
func (o *Observer) Holds(ownerID string, holds func(manifests.Key) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, c := range o.awaited {
		if c.holder != ownerID {
			continue
		}
		given := !holds(key)
		if given && !c.given {
			o.freed(key)
		}
		c.given = given
	}
}

// left gives those a turn who wait for what an owner had that is gone. The caller holds the lock.
func (o *Observer) left(ownerID string) {
	for key, c := range o.awaited {
		if c.holder == ownerID {
			o.freed(key)
		}
	}
}

func (o *Observer) freed(key manifests.Key) {
	for _, k := range o.kinds[o.PlaceOf(key)] {
		k.freed(key)
	}
}

// freed notes that an object vanished from the watch, for it was deleted or released, or that who had it has given it up: those who wait for it are
// woken after a moment, unless somebody has it then. Who had it last and may come back is woken in their stead: the end of its pass tells. The caller
// holds the lock.
func (k *kind) freed(key manifests.Key) {
	awaited := k.observer.awaited[key]
	if awaited == nil {
		return
	}
	if t := awaited.turns[k]; t != nil {
		t.Stop()
	}
	awaited.turns[k] = time.AfterFunc(awaitGrace, func() {
		k.observer.mu.Lock()
		defer k.observer.mu.Unlock()
		c := k.observer.awaited[key]
		switch {
		case c == nil || k.shows(key) && k.records[key].Owner != "":
		case !c.given && k.observer.owners[c.holder] != nil:
			k.observer.wake(c.holder)
		default:
			for ownerID := range c.wantedBy {
				if k.users[ownerID] {
					k.observer.wake(ownerID)
				}
			}
		}
	})
}

// shows says that the watch shows an object. The caller holds the lock.
func (k *kind) shows(key manifests.Key) bool {
	o := k.records[key]
	return o != nil && o.Presence == plan.Present
}
