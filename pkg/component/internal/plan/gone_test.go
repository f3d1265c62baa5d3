package plan

import (
	"slices"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// An object that is being deleted lets others go on only if its condition holds, and stays in the record. Definitions
// and namespaces wait nevertheless.
func TestGoneWhen(t *testing.T) {
	last := desiredObject(2, manifests.StageWorkloads, "last")
	early, beside := desiredObject(1, manifests.StageWorkloads, "early"), desiredObject(0,
		manifests.StageNamespaces, "home")
	below := desiredObject(0, manifests.StageConfiguration, "below")
	for _, c := range []struct {
		name string
		gone GoneState
		// graph is set if early and below are ordered by an edge instead of waves.
		graph bool
		want  []string
	}{
		{"without a condition", GoneUnset, false, nil},
		{"the condition is false", GoneWaits, false, nil},
		{"the condition was not read", GoneUnread, false, []string{"Read last"}},
		{"the condition holds", GoneHolds, false, []string{"Delete early"}},
		{"the condition holds for an edge", GoneHolds, true, []string{"Delete below"}},
		{"the condition is false for an edge", GoneWaits, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &component{world: newWorld()}
			objects := []manifests.Object{last, early}
			if c.graph {
				objects = []manifests.Object{last, below}
			}
			for _, o := range append(objects, beside) {
				w.applied(o)
			}
			inventory := w.inventory
			if c.graph {
				e := inventory[last.Key]
				e.DependsOn = below.Key.String()
				inventory[last.Key] = e
			}
			w.world.objects[last.Key].terminating = true
			f := Facts{Owner: us, Inventory: inventory, Reason: ReasonDeleted}
			f = f.seen(func(key manifests.Key) Observed {
				o := w.world.watched(key)
				if key == last.Key {
					o.Gone = c.gone
				}
				return o
			})
			p := ForDelete(f)
			var got []string
			for _, a := range p.Actions {
				got = append(got, string(a.Verb)+" "+a.Key.Name)
			}
			if _, recorded := p.Inventory[last.Key]; !slices.Equal(got, c.want) || !recorded {
				t.Errorf("got %v, want %v; recorded %v", got, c.want, recorded)
			}
		})
	}
}

// The namespace is deleted only when no other object exists any more.
func TestNamespacesWaitDespiteGoneWhen(t *testing.T) {
	c := &component{world: newWorld()}
	object, home := desiredObject(0, manifests.StageWorkloads, "object"), desiredObject(0,
		manifests.StageNamespaces, "home")
	c.applied(object).terminating = true
	c.applied(home)
	f := Facts{
		Owner: us, Inventory: c.inventory, Reason: ReasonDeleted,
		Defaults: Policies{Delete: metav1alpha1.DeleteDelete},
	}
	f = f.seen(func(key manifests.Key) Observed {
		o := c.world.watched(key)
		if key == object.Key {
			o.Gone = GoneHolds
		}
		return o
	})
	if p := ForDelete(f); len(p.Actions) != 0 || len(p.Waiting) != 1 {
		t.Errorf("got %v, waiting %v", p.Actions, p.Waiting)
	}
}
