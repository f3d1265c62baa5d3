package plan

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestTheInventoryNotesObjectsThatAreLeftOut(t *testing.T) {
	inactive, undecided := &manifests.Held{}, &manifests.Held{Undecided: "a value is missing"}
	for _, c := range []struct {
		name string
		// before is set if the last decision left the object out.
		before bool
		// held is the decision about the object, and excluded is set if the object is excluded instead.
		held     *manifests.Held
		excluded map[manifests.Key]bool
		change   func(*manifests.Object)
		hold     bool
		want     bool
	}{
		{name: "an applied object is not left out"},
		{name: "an inactive object is left out", held: inactive, want: true},
		{name: "an inactive object stays left out", before: true, held: inactive, want: true},
		{
			name:   "an inactive object stays left out while only repairs are made",
			before: true, held: inactive, hold: true, want: true,
		},
		{name: "an excluded object is left out until it is deleted", excluded: excludes(true), want: true},
		{
			name:     "an excluded object that is only observed is left out until it is released",
			excluded: excludes(false), want: true,
		},
		{name: "an applied object stays applied while its condition has no value", held: undecided},
		{name: "an object stays left out while its condition has no value", before: true, held: undecided, want: true},
		{name: "an object in sync is not left out any more", before: true},
		{
			name:   "an object that is about to be updated is not left out any more",
			before: true, change: func(o *manifests.Object) { o.Digest = "d2" },
		},
		{
			name:   "an object that another one makes undecided is not left out any more",
			before: true, change: func(o *manifests.Object) { o.Undecided = &manifests.Key{Kind: "ConfigMap", Name: "a"} },
		},
		{name: "an object that is not rendered any more keeps its entry", before: true, excluded: excludes(), want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := desiredObject(0, manifests.StageWorkloads, "web")
			// A later wave delays the removal of objects that are not excluded.
			later := desiredObject(1, manifests.StageWorkloads, "later")
			scene := &component{world: newWorld()}
			scene.applied(web)
			entry := scene.inventory[web.Key]
			entry.LeftOut = c.before
			scene.inventory[web.Key] = entry
			if c.change != nil {
				c.change(&web)
			}
			web.Held = c.held
			f := Facts{
				Owner: us, Desired: []manifests.Object{web, later}, Inventory: scene.inventory, Excluded: c.excluded, Hold: c.hold,
				Reason: ReasonPruned,
			}
			if c.excluded != nil {
				f.Desired = f.Desired[1:]
			}
			p := ForApply(f.seen(scene.world.watched))
			got, recorded := p.Inventory[web.Key]
			if !recorded || got.LeftOut != c.want || strings.Contains(got.String(), "lo=") != c.want {
				t.Errorf("got %s, want an entry with LeftOut = %t", got, c.want)
			}
			if later := p.Inventory[later.Key]; later.LeftOut {
				t.Errorf("got %s", later)
			}
		})
	}
}

// excludes returns excluded objects: none, or one that is deleted or released.
func excludes(deletes ...bool) map[manifests.Key]bool {
	excluded := map[manifests.Key]bool{}
	for _, deletes := range deletes {
		excluded[desiredObject(0, manifests.StageWorkloads, "web").Key] = deletes
	}
	return excluded
}

// An object that is left out before it was ever applied gets no entry.
func TestLeftOutObjectsGetNoEntry(t *testing.T) {
	web := desiredObject(0, manifests.StageWorkloads, "web")
	f := Facts{Owner: us, Excluded: excludes(true)}
	if p := ForApply(f.seen(newWorld().watched)); len(p.Inventory) != 0 {
		t.Errorf("excluded: got %v", p.Inventory)
	}
	web.Held = &manifests.Held{}
	f = Facts{Owner: us, Desired: []manifests.Object{web}}
	if p := ForApply(f.seen(newWorld().watched)); len(p.Inventory) != 0 || p.WriteInventory {
		t.Errorf("inactive: got %v", p.Inventory)
	}
}
