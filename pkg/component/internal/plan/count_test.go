package plan

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestRecordedObjectsAreCountedWithoutARendering(t *testing.T) {
	a, b := desiredObject(0, manifests.StageConfiguration, "a"), desiredObject(3, manifests.StageWorkloads, "b")
	for _, c := range []struct {
		name   string
		change func(w *world, x *component)
		// want is the number of ready objects, -1 if it is not known, and reason that of the first other object.
		want   int
		reason WaitReason
	}{
		{"all are ready", func(*world, *component) {}, 2, ""},
		{"one was deleted", func(w *world, _ *component) { delete(w.objects, b.Key) }, 1, WaitAbsent},
		{"one is not ready", func(w *world, _ *component) { w.objects[b.Key].state = ready.InProgress }, 1, WaitInProgress},
		{"one has another owner", func(w *world, _ *component) { w.objects[b.Key].owner = "them" }, 1, WaitOwnershipConflict},
		{"one completed its work and was deleted", func(w *world, x *component) {
			delete(w.objects, b.Key)
			e := x.inventory[b.Key]
			e.Completed = true
			x.inventory[b.Key] = e
		}, 2, ""},
		{"one is in an unknown state", func(w *world, _ *component) { w.blind[b.Key] = true }, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			x := &component{world: w}
			x.applied(a)
			x.applied(b)
			c.change(w, x)
			p, known := Count(Facts{Owner: us, Inventory: x.inventory}.seen(w.watched))
			if c.want < 0 && known {
				t.Errorf("counted %d", p.Ready)
			}
			if c.want < 0 {
				return
			}
			if !known || p.Ready != c.want || p.Desired != 2 || len(p.Inventory) != 2 || len(p.Actions) != 0 {
				t.Fatalf("known %t, %d of %d ready, %d recorded, %d actions", known, p.Ready, p.Desired, len(p.Inventory),
					len(p.Actions))
			}
			if c.reason != "" && (len(p.Waiting) != 1 || p.Waiting[0].Reason != c.reason || p.Waiting[0].Wave != 3) {
				t.Errorf("waiting %v, want %s", p.Waiting, c.reason)
			}
		})
	}
}
