package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// guardedComponent returns a component that is being deleted, in a world where guards can be set up. The component has
// a definition, and a namespace that is deleted after the definition.
func guardedComponent() (c *component, definition manifests.Object) {
	definition, namespace := desiredObject(0, manifests.StageDefinitions, "definition"), desiredObject(0,
		manifests.StageNamespaces, "namespace")
	definition.Key = manifests.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "definition"}
	c = &component{world: newWorld(), deleting: true, guards: true, foreign: map[manifests.ManagedType]ForeignInstances{}}
	c.applied(definition)
	c.applied(namespace)
	return c, definition
}

// steps makes a pass. steps returns a text for the actions of each plan, followed by the waits and blockers of the last
// plan.
func (c *component) steps(onPlan func(Facts, Plan)) []string {
	var steps []string
	p := c.pass(func(f Facts, p Plan) {
		onPlan(f, p)
		var texts []string
		for _, a := range p.Actions {
			texts = append(texts, strings.ToLower(string(a.Verb))+" "+a.Key.Name)
		}
		if p.WriteInventory {
			texts = append([]string{"record"}, texts...)
		}
		if len(texts) > 0 {
			steps = append(steps, strings.Join(texts, ", "))
		}
	})
	for _, w := range p.Waiting {
		steps = append(steps, "wait for "+w.Key.Name+": "+string(w.Reason))
	}
	for _, b := range p.Blocked {
		steps = append(steps, "blocked by "+b.Type.String())
	}
	return steps
}

func nothing(Facts, Plan) {}

func expectSteps(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGuard(t *testing.T) {
	waiting := "wait for definition: NotGuarded"
	t.Run("the admission guard is recorded, set up and probed; the definition is deleted when the guard is in effect, "+
		"and then the guard is removed", func(t *testing.T) {
		c, definition := guardedComponent()
		var due time.Time
		expectSteps(t, c.steps(func(f Facts, p Plan) {
			if len(p.Actions) == 0 {
				due = p.NextDue.Add(-probeInterval)
				if !due.Equal(f.Now) {
					t.Errorf("the next probe of the admission guard is due at %s, and the time is %s", p.NextDue, f.Now)
				}
			}
		}), "trydelete definition", "record, guard guard", "probe guard", waiting)
		expectSteps(t, c.steps(nothing), "probe guard", waiting)
		c.world.held[definition.Key] = true
		expectSteps(t, c.steps(nothing), "delete definition", "wait for definition: NotGone")
		c.world.passTime()
		expectSteps(t, c.steps(nothing), "read definition", "unguard guard", "delete namespace")
		if len(c.inventory) > 0 {
			t.Errorf("after the deletion the inventory still has %v", c.inventory)
		}
	})
	t.Run("the admission guard is removed if a foreign instance was created before the guard took effect, and then the "+
		"deletion is blocked", func(t *testing.T) {
		c, _ := guardedComponent()
		c.steps(nothing)
		c.steps(nothing)
		expectSteps(t, c.steps(func(_ Facts, p Plan) {
			if len(p.Actions) > 0 && p.Actions[0].Verb == VerbDelete {
				c.foreign[widgets] = ForeignInstances{Count: 1}
				c.world.touch(c.world.objects[p.Actions[0].Key])
			}
		}), "delete definition", "unguard guard", "blocked by Widget.example.com")
		if anyGuarded(sortedInventory(c.inventory)) {
			t.Error("the field Guarded of a definition is still set after the guard was removed")
		}
	})
	t.Run("the admission guard stays until it takes effect, and is removed then if foreign "+
		"instances still exist", func(t *testing.T) {
		c, _ := guardedComponent()
		c.steps(nothing)
		c.foreign[widgets] = ForeignInstances{Count: 1}
		expectSteps(t, c.steps(nothing), "probe guard", waiting)
		expectSteps(t, c.steps(nothing), "unguard guard", "blocked by Widget.example.com")
	})
	t.Run("the admission guard is removed if it does not take effect in time and foreign "+
		"instances exist", func(t *testing.T) {
		c, _ := guardedComponent()
		c.steps(nothing)
		c.foreign[widgets] = ForeignInstances{Count: 1}
		c.clock += int(guardTimeout / time.Second)
		expectSteps(t, c.steps(nothing), "unguard guard", "blocked by Widget.example.com")
	})
	t.Run("the admission guard is set up again if it does not take effect in time, because another client may "+
		"have removed it", func(t *testing.T) {
		c, _ := guardedComponent()
		c.steps(nothing)
		c.clock += int(guardTimeout / time.Second)
		expectSteps(t, c.steps(nothing), "guard guard", "probe guard", waiting)
	})
	t.Run("the admission guard of an earlier component of the same name is removed", func(t *testing.T) {
		for _, owner := range []string{us, ""} {
			c, definition := guardedComponent()
			c.deleting, c.desired, c.inventory = false, []manifests.Object{definition}, nil
			x := c.world.objects[definition.Key]
			x.owner, x.digest = owner, "another"
			got := c.steps(nothing)
			if !slices.Contains(got, "unguard guard") || anyGuarded(sortedInventory(c.inventory)) {
				t.Errorf("definition with owner %q: the pass had the steps %v, want the removal of the guard", owner, got)
			}
		}
	})
	t.Run("the admission guard is removed before all other actions if the definition is "+
		"desired again", func(t *testing.T) {
		c, definition := guardedComponent()
		c.steps(nothing)
		c.deleting, c.desired = false, []manifests.Object{definition}
		expectSteps(t, c.steps(nothing), "unguard guard", "delete namespace")
	})
	t.Run("after a crash the admission guard is removed when the definition no longer exists", func(t *testing.T) {
		c, definition := guardedComponent()
		c.steps(nothing)
		c.guard = Guard{}
		delete(c.world.objects, definition.Key)
		expectSteps(t, c.steps(nothing), "read definition", "unguard guard", "delete namespace")
	})
	t.Run("after a crash the admission guard is set up again", func(t *testing.T) {
		c, _ := guardedComponent()
		c.steps(nothing)
		c.guard, c.world.probes = Guard{}, 0
		expectSteps(t, c.steps(nothing), "trydelete definition", "guard guard", "probe guard", waiting)
	})
	refused := "wait for definition: Forbidden"
	t.Run("no admission guard is set up for a definition that cannot be deleted", func(t *testing.T) {
		c, definition := guardedComponent()
		c.world.undeletable[definition.Key] = true
		expectSteps(t, c.steps(nothing), "trydelete definition", refused)
	})
	t.Run("the admission guard is removed if the deletion of the definition fails", func(t *testing.T) {
		c, definition := guardedComponent()
		c.steps(nothing)
		c.steps(nothing)
		c.world.undeletable[definition.Key] = true
		expectSteps(t, c.steps(nothing), "delete definition", "unguard guard", refused)
		if anyGuarded(sortedInventory(c.inventory)) {
			t.Error("the field Guarded of a definition is still set after the guard was removed")
		}
		expectSteps(t, c.steps(nothing), "trydelete definition", refused)
	})
	t.Run("the admission guard is removed after a crash if the definition cannot be deleted", func(t *testing.T) {
		c, definition := guardedComponent()
		c.steps(nothing)
		c.guard, c.world.undeletable[definition.Key] = Guard{}, true
		expectSteps(t, c.steps(nothing), "trydelete definition", "unguard guard", refused)
	})
	t.Run("a definition without our label or the recorded UID is deleted without an admission guard", func(t *testing.T) {
		for _, edit := range []func(*thing){
			func(x *thing) { x.owner = "" },
			func(x *thing) { x.uid = "another" },
		} {
			c, definition := guardedComponent()
			edit(c.world.objects[definition.Key])
			expectSteps(t, c.steps(nothing), "delete definition", "delete namespace")
		}
	})
	t.Run("a recorded definition without a trace of us is neither guarded nor deleted", func(t *testing.T) {
		c, definition := guardedComponent()
		x := c.world.objects[definition.Key]
		x.owner, x.labelled, x.digest, x.fields = "", false, "", ""
		expectSteps(t, c.steps(nothing), "read definition", "delete namespace")
		if c.world.objects[definition.Key] == nil {
			t.Error("the definition was deleted")
		}
	})
	t.Run("no admission guard is set up if no definition is deleted", func(t *testing.T) {
		c, definition := guardedComponent()
		c.deleting, c.desired = false, []manifests.Object{definition}
		expectSteps(t, c.steps(nothing), "delete namespace")
	})
	t.Run("definitions are deleted without an admission guard if the guard cannot be set up", func(t *testing.T) {
		c, _ := guardedComponent()
		c.guards = false
		expectSteps(t, c.steps(nothing), "delete definition", "delete namespace")
	})
}

func sortedInventory(inv Inventory) []metav1alpha1.InventoryEntry {
	var entries []metav1alpha1.InventoryEntry
	for _, key := range sortedKeys(inv) {
		entries = append(entries, inv[key])
	}
	return entries
}

func TestGuardAfter(t *testing.T) {
	now := time.Unix(1000, 0)
	set := Guard{
		Name: "guard", SetUp: now.Add(-2 * time.Second), Definitions: widgetNames, Probed: now.Add(-time.Second),
		EffectiveSince: now.Add(-time.Second),
	}
	fails := func(class FailureClass, reason WaitReason) Result {
		return Result{Failure: &Failure{Class: class, Reason: reason}}
	}
	with := func(edit func(*Guard)) Guard {
		g := set
		edit(&g)
		return g
	}
	for _, c := range []struct {
		name   string
		before Guard
		verb   Verb
		result Result
		want   Guard
	}{
		{
			"a guard that was just set up is not known to be in effect",
			set, VerbGuard,
			Result{},
			Guard{Name: "guard", SetUp: now, Definitions: []string{"new"}},
		},
		{
			"the state of a guard does not change if its setup failed with a transient error",
			set, VerbGuard, fails(Transient, "Timeout"), set,
		},
		{
			"a guard is unavailable if the setup is forbidden",
			set, VerbGuard, fails(Terminal, "Forbidden"), with(func(g *Guard) { g.Unavailable = true }),
		},
		{
			"a guard is unavailable if the API server does not serve admission policies",
			set, VerbGuard, fails(Transient, WaitNotServed), with(func(g *Guard) { g.Unavailable = true }),
		},
		{
			"a guard is unavailable if the probe is forbidden",
			set, VerbProbe, fails(Terminal, "Forbidden"), with(func(g *Guard) { g.Unavailable = true }),
		},
		{
			"a guard that is in effect for the first time is in effect since this probe",
			with(func(g *Guard) { g.EffectiveSince = time.Time{} }), VerbProbe, holding,
			with(func(g *Guard) { g.Probed, g.EffectiveSince = now, now }),
		},
		{
			"a guard that is still in effect keeps the time of the first probe",
			set, VerbProbe, holding, with(func(g *Guard) { g.Probed = now }),
		},
		{
			"a guard that is no longer in effect loses the time of the first probe",
			set, VerbProbe,
			Result{Observed: &Observed{Presence: Absent}},
			with(func(g *Guard) { g.Probed, g.EffectiveSince = now, time.Time{} }),
		},
		{
			"after a probe without a response the guard is not known to be in effect",
			set, VerbProbe, fails(Transient, "Timeout"), with(func(g *Guard) { g.Probed, g.EffectiveSince = now, time.Time{} }),
		},
		{"a removed guard is no longer known", set, VerbUnguard, Result{}, Guard{Name: "guard"}},
		{"the state of a guard does not change if its removal failed", set, VerbUnguard, fails(Transient, "Timeout"), set},
		{"actions on dependents do not change the state of the guard", set, VerbDelete, fails(Terminal, "Forbidden"), set},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.before.After(Action{Verb: c.verb, Definitions: []Definition{{Name: "new"}}}, c.result, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var holding = Result{Observed: &Observed{Presence: Present}}
