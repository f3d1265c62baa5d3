package plan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestAnObjectThatIsDesiredUnderAnotherGroupIsNotRemoved(t *testing.T) {
	core := manifests.Object{
		Key:     manifests.Key{Kind: "Event", Namespace: "shop", Name: "started"},
		Version: "v1", Scope: manifests.ScopeNamespaced, Stage: manifests.StageConfiguration, Digest: "d1",
	}
	for _, c := range []struct {
		name string
		// change changes the desired object, and live the UID of the object under its group.
		change    func(*manifests.Object)
		live      string
		want      string
		inventory string
	}{
		{"the same object", func(*manifests.Object) {}, "same", "", "Event.events.k8s.io shop/started"},
		{
			"the same object, pruned at once", func(o *manifests.Object) { o.Digest = "d2" }, "same",
			"apply Event.events.k8s.io shop/started", "Event.events.k8s.io shop/started",
		},
		{
			"another object with the same name", func(*manifests.Object) {}, "other", "delete Event shop/started",
			"Event shop/started, Event.events.k8s.io shop/started",
		},
		{
			"an object with another name, whose UID is wrong in the record", func(o *manifests.Object) { o.Key.Name = "web" },
			"same", "delete Event shop/started", "Event shop/started, Event.events.k8s.io shop/web",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			app := &component{world: w}
			app.applied(core)
			moved := core
			moved.Key.Group = "events.k8s.io"
			c.change(&moved)
			x := w.add(moved.Key, us, "d1")
			app.inventory[moved.Key] = w.recorded(moved)
			previous := app.inventory[core.Key]
			if c.live == "same" {
				previous.UID = x.uid
				w.objects[core.Key].uid = x.uid
			}
			previous.PrunePolicy = metav1alpha1.PruneAtOnce
			app.inventory[core.Key] = previous
			p := ForApply(Facts{
				Owner: us, Defaults: Policies{Update: metav1alpha1.UpdateSSAOverride, Adoption: metav1alpha1.AdoptIfUnowned},
				Desired: []manifests.Object{moved}, Inventory: app.inventory,
			}.seen(w.watched))
			actions := make([]string, 0, len(p.Actions))
			for _, a := range p.Actions {
				actions = append(actions, strings.ToLower(string(a.Verb))+" "+a.Key.String())
			}
			if got := strings.Join(actions, ", "); got != c.want {
				t.Errorf("actions %q, want %q", got, c.want)
			}
			var keys []string
			for _, key := range slices.SortedFunc(maps.Keys(p.Inventory), manifests.Key.Compare) {
				keys = append(keys, key.String())
			}
			if got := strings.Join(keys, ", "); got != c.inventory {
				t.Errorf("inventory %q, want %q", got, c.inventory)
			}
		})
	}
}
