package plan

import (
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// desiredObject returns a desired object with the given apply order and name. The stage determines its kind.
func desiredObject(order int, stage manifests.Stage, name string) manifests.Object {
	kinds := map[manifests.Stage]manifests.Key{
		manifests.StageNamespaces:    {Kind: "Namespace"},
		manifests.StageDefinitions:   {Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		manifests.StageConfiguration: {Kind: "ConfigMap", Namespace: "shop"},
		manifests.StageWorkloads:     {Group: "apps", Kind: "Deployment", Namespace: "shop"},
		manifests.StageBackends:      {Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		manifests.StageInstances:     {Group: "example.com", Kind: "Widget", Namespace: "shop"},
	}
	key := kinds[stage]
	key.Name = name
	o := manifests.Object{Key: key, Version: "v1", Scope: manifests.ScopeNamespaced, Stage: stage, Digest: "d1"}
	o.Settings.Order = order
	if stage == manifests.StageDefinitions {
		o.Types = []manifests.ManagedType{widgets}
	}
	return o
}

var widgets = manifests.ManagedType{GroupKind: manifests.Key{Group: "example.com", Kind: "Widget"}.GroupKind()}

// recorded returns the inventory entry of an object that is applied in the world.
func (w *world) recorded(o manifests.Object) metav1alpha1.InventoryEntry {
	x := w.objects[o.Key]
	e := newCandidate(Facts{}, &o).newEntry()
	e.UID, e.Digest, e.Fields = x.uid, x.digest, x.fields
	return e
}

// applied adds an object to the world and to the inventory, in the state after an apply: in sync and ready.
func (c *component) applied(o manifests.Object) *thing {
	x := c.world.add(o.Key, us, o.Digest)
	if c.inventory == nil {
		c.inventory = Inventory{}
	}
	c.inventory[o.Key] = c.world.recorded(o)
	return x
}

// next returns the actions and the waiting objects of the next plan, by name.
func (c *component) next() string {
	var texts []string
	f := Facts{
		Owner: us, Defaults: Policies{Update: metav1alpha1.UpdateSSAOverride, Adoption: metav1alpha1.AdoptIfUnowned},
		Managed: c.managed, Desired: c.desired, Inventory: c.inventory, Foreign: c.foreign,
		Guard: c.knownGuard(),
	}.seen(c.world.watched)
	p := ForApply(f)
	if c.deleting {
		p = ForDelete(f)
	}
	for _, a := range p.Actions {
		texts = append(texts, strings.ToLower(string(a.Verb))+" "+a.Key.Name)
	}
	for _, w := range p.Waiting {
		texts = append(texts, "wait for "+w.Key.Name)
	}
	for _, b := range p.Blocked {
		texts = append(texts, "blocked by "+b.Type.String())
	}
	return strings.Join(texts, ", ")
}

func TestGates(t *testing.T) {
	const (
		namespaces, definitions, configuration = manifests.StageNamespaces, manifests.StageDefinitions,
			manifests.StageConfiguration
		workloads, backends, instances = manifests.StageWorkloads, manifests.StageBackends, manifests.StageInstances
	)
	// Each row sets the state of an earlier object; a later object is new. want has the actions and waits of the next
	// plan.
	for _, c := range []struct {
		name         string
		state        func(*component, manifests.Object)
		earlierOrder int
		earlier      manifests.Stage
		laterOrder   int
		later        manifests.Stage
		want         string
	}{
		{
			"the next wave waits until the objects of the current wave are created",
			missing, 0, configuration, 1, configuration, "create earlier",
		},
		{
			"the next wave waits until the objects of the current wave are ready",
			inProgress, 0, workloads, 1, configuration, "wait for earlier",
		},
		{
			"the next wave waits until the objects of the current wave are updated",
			outdated, 0, workloads, 1, configuration, "apply earlier",
		},
		{
			"the next wave waits after a failure in the current wave",
			refused, 0, workloads, 1, configuration, "wait for earlier",
		},
		{"the next wave begins when the current wave is ready", applied, 0, workloads, 1, configuration, "create later"},
		{"waves with a negative number come before wave 0", missing, -5, workloads, -4, namespaces, "create earlier"},
		{"workloads wait until configuration is applied", missing, 0, configuration, 0, workloads, "create earlier"},
		{
			"workloads do not wait for the readiness of configuration", inProgress, 0, configuration, 0, workloads,
			"create later, wait for earlier",
		},
		{
			"workloads do not wait for the readiness of definitions", inProgress, 0, definitions, 0, workloads,
			"create later, wait for earlier",
		},
		{"all other stages wait for namespaces", inProgress, 0, namespaces, 0, configuration, "wait for earlier"},
		{"webhooks wait for the readiness of workloads", inProgress, 0, workloads, 0, backends, "wait for earlier"},
		{
			"webhooks do not wait for the readiness of configuration", inProgress, 0, configuration, 0, backends,
			"create later, wait for earlier",
		},
		{
			"instances wait until their definition is established", inProgress, 0, definitions, 0, instances,
			"wait for earlier",
		},
		{"instances wait for the readiness of workloads", inProgress, 0, workloads, 0, instances, "wait for earlier"},
		{"instances wait for the readiness of webhooks", inProgress, 0, backends, 0, instances, "wait for earlier"},
		{
			"objects of the same stage do not wait for each other",
			inProgress, 0, workloads, 0, workloads, "create later, wait for earlier",
		},
		{
			"objects of the same stage do not wait for a failed object",
			refused, 0, workloads, 0, workloads, "create later, wait for earlier",
		},
		{
			"objects of the same stage are written together",
			missing, 0, workloads, 0, workloads, "create earlier, create later",
		},
		{"a later stage waits after a failure", refused, 0, configuration, 0, workloads, "wait for earlier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			earlier := desiredObject(c.earlierOrder, c.earlier, "earlier")
			later := desiredObject(c.laterOrder, c.later, "later")
			x := &component{world: newWorld(), desired: []manifests.Object{earlier, later}}
			c.state(x, earlier)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A claim may be bound only when a Pod of a later wave uses it.
func TestLaterWavesDoNotWaitForAClaimThatIsNotBound(t *testing.T) {
	for _, c := range []struct {
		name  string
		state func(*component, manifests.Object)
		want  string
	}{
		{"a claim that is not bound", inProgress, "create later, wait for earlier"},
		{"a claim that is not created", missing, "create earlier"},
		{"a claim that is not updated", outdated, "apply earlier"},
		{"a claim that failed", func(c *component, o manifests.Object) {
			c.applied(o).
				state = ready.Failed
		}, "wait for earlier"},
		{"a claim of another owner", refused, "wait for earlier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := desiredObject(0, manifests.StageConfiguration, "earlier")
			claim.Key.Kind = "PersistentVolumeClaim"
			x := &component{world: newWorld(), desired: []manifests.Object{
				claim,
				desiredObject(1, manifests.StageWorkloads, "later"),
			}}
			c.state(x, claim)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The functions below set the state of the earlier object.

func missing(*component, manifests.Object) {}

func applied(c *component, o manifests.Object) { c.applied(o) }

func inProgress(c *component, o manifests.Object) { c.applied(o).state = ready.InProgress }

func outdated(c *component, o manifests.Object) {
	o.Digest = "d0"
	c.applied(o)
}

// refused makes somebody else the owner of the object.
func refused(c *component, o manifests.Object) { c.world.add(o.Key, them, "d1") }

func TestRepairsDoNotWait(t *testing.T) {
	first := desiredObject(0, manifests.StageWorkloads, "first")
	second := desiredObject(1, manifests.StageWorkloads, "second")
	third := desiredObject(1, manifests.StageWorkloads, "third")
	for _, c := range []struct {
		name  string
		setUp func(c *component)
		want  string
	}{
		{"drift is repaired although an earlier wave is not ready", func(c *component) {
			c.applied(first).state = ready.InProgress
			c.world.drift(c.applied(second))
			c.applied(third)
		}, "apply second, wait for first"},
		{"a deleted object is created again although an earlier wave failed", func(c *component) {
			refused(c, first)
			c.applied(second)
			c.applied(third)
			delete(c.world.objects, second.Key)
		}, "create second, wait for first"},
		{"a changed object of the same wave still waits for the earlier wave", func(c *component) {
			c.applied(first).state = ready.InProgress
			c.world.drift(c.applied(second))
			outdated(c, third)
		}, "apply second, wait for first"},
		{"changes of an earlier stage are made before repairs of a later stage", func(c *component) {
			outdated(c, first)
			c.world.drift(c.applied(second))
			c.applied(third)
		}, "apply first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{world: newWorld(), desired: []manifests.Object{first, second, third}}
			c.setUp(x)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	first := desiredObject(0, manifests.StageDefinitions, "first")
	first.Settings.UpdatePolicy, first.Settings.DeleteOrder = metav1alpha1.UpdateReplace, new(7)
	second := desiredObject(1, manifests.StageWorkloads, "second")
	facts := func(inv Inventory) Facts {
		return Facts{Owner: us, Desired: []manifests.Object{first, second}, Inventory: inv}.seen(newWorld().watched)
	}

	t.Run("the whole apply set is recorded before the first wave is written", func(t *testing.T) {
		p := ForApply(facts(nil))
		if !p.WriteInventory || len(p.Inventory) != 2 {
			t.Errorf("the plan has WriteInventory %v and the inventory %v", p.WriteInventory, p.Inventory)
		}
		want := "apiextensions.k8s.io/v1/CustomResourceDefinition//first x=7 up=replace t=Widget.example.com"
		if got := p.Inventory[first.Key].String(); got != want {
			t.Errorf("the entry of the object is  %s\nwant %s", got, want)
		}
		if got := p.Inventory[second.Key].String(); got != "apps/v1/Deployment/shop/second o=1" {
			t.Errorf("the next plan is  %s", got)
		}
	})
	t.Run("the inventory is not persisted again if all objects are recorded", func(t *testing.T) {
		inv := ForApply(facts(nil)).Inventory
		if p := ForApply(facts(inv)); p.WriteInventory {
			t.Error("the plan records the inventory again, although the inventory did not change")
		}
	})
	t.Run("the caller's inventory is not changed", func(t *testing.T) {
		inv := Inventory{}
		ForApply(facts(inv))
		if len(inv) > 0 {
			t.Errorf("the inventory is not empty: %v", inv)
		}
	})
	t.Run("an object of unknown scope is not recorded, because its key may be wrong", func(t *testing.T) {
		unknown := second
		unknown.Scope = manifests.ScopeUnknown
		f := facts(nil)
		f.Desired = []manifests.Object{unknown}
		if p := ForApply(f.seen(newWorld().watched)); p.WriteInventory || len(p.Inventory) > 0 {
			t.Errorf("the plan has WriteInventory %v and the inventory %v", p.WriteInventory, p.Inventory)
		}
	})
}

func TestCounts(t *testing.T) {
	ok, slow := desiredObject(0, manifests.StageWorkloads, "ok"), desiredObject(0, manifests.StageWorkloads, "slow")
	pending := desiredObject(1, manifests.StageWorkloads, "pending")
	for _, c := range []struct {
		name           string
		desired        []manifests.Object
		setUp          func(*component)
		applied        bool
		ready, desires int
	}{
		{"all objects are applied and ready", []manifests.Object{ok}, func(c *component) { c.applied(ok) }, true, 1, 1},
		{"an object that is not ready counts as applied", []manifests.Object{ok, slow}, func(c *component) {
			c.applied(ok)
			c.applied(slow).state = ready.InProgress
		}, true, 1, 2},
		{"an object that failed after it was applied counts as applied", []manifests.Object{ok, slow}, func(c *component) {
			c.applied(ok)
			c.applied(slow).state = ready.Failed
		}, true, 1, 2},
		{
			"an object that waits for an earlier wave does not count as applied",
			[]manifests.Object{slow, pending},
			func(c *component) {
				c.applied(slow).state = ready.InProgress
			}, false, 0, 2,
		},
		{
			"an object of another owner does not count as applied",
			[]manifests.Object{ok},
			func(c *component) { refused(c, ok) }, false, 0, 1,
		},
		{"an empty set counts as applied", nil, func(*component) {}, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{world: newWorld(), desired: c.desired}
			c.setUp(x)
			p := ForApply(Facts{Owner: us, Desired: c.desired, Inventory: x.inventory}.seen(x.world.watched))
			if p.Applied != c.applied || p.Ready != c.ready || p.Desired != c.desires {
				t.Errorf("the plan has applied %v and %d/%d ready objects; want %v and %d/%d", p.Applied, p.Ready, p.Desired,
					c.applied, c.ready, c.desires)
			}
		})
	}
}
