package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestPrune(t *testing.T) {
	kept := desiredObject(0, manifests.StageWorkloads, "kept")
	dropped := desiredObject(0, manifests.StageWorkloads, "dropped")
	for _, c := range []struct {
		name  string
		state func(*component, manifests.Object)
		want  string
	}{
		{"an object that is no longer rendered is deleted when all other objects are ready", applied, "delete dropped"},
		{"an object is not pruned before all desired objects are ready", inProgress, "wait for kept"},
		{"an object is not pruned before all changed objects are written", outdated, "apply kept"},
		{"an object is not pruned before all desired objects exist", missing, "create kept"},
		{"an object is not pruned if an apply failed", refused, "wait for kept"},
		{
			"an object is not pruned if a desired object failed",
			func(c *component, o manifests.Object) { c.applied(o).state = ready.Failed },
			"wait for kept",
		},
		{"an object is not pruned while the state of a desired object is unknown", func(c *component, o manifests.Object) {
			c.applied(o)
			c.world.blind[o.Key] = true
		}, "wait for kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{world: newWorld(), desired: []manifests.Object{kept}}
			x.applied(dropped)
			c.state(x, kept)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDeletionOrder(t *testing.T) {
	object := desiredObject
	role := object(0, manifests.StageDefinitions, "role")
	role.Key, role.Types = manifests.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "role"}, nil
	ordered := func(o manifests.Object, deleteOrder int) manifests.Object {
		o.Settings.DeleteOrder = &deleteOrder
		return o
	}
	for _, c := range []struct {
		name    string
		objects []manifests.Object
		want    []string
	}{
		{"stages are deleted in the reverse of the apply order, one after the other", []manifests.Object{
			object(0, manifests.StageNamespaces, "namespace"), object(0, manifests.StageDefinitions, "definition"),
			object(0, manifests.StageConfiguration, "configuration"), object(0, manifests.StageWorkloads, "workload"),
			object(0, manifests.StageBackends, "webhook"), object(0, manifests.StageInstances, "instance"),
		}, []string{"instance", "webhook", "workload", "configuration", "definition", "namespace"}},
		{"waves are deleted in the reverse of the apply order", []manifests.Object{
			object(-1, manifests.StageWorkloads, "first"), object(0, manifests.StageWorkloads, "second"),
			object(5, manifests.StageWorkloads, "third"),
		}, []string{"third", "second", "first"}},
		{"the setting delete-order of an object overrides the reverse of the apply order", []manifests.Object{
			ordered(object(0, manifests.StageWorkloads, "last"), 10), ordered(object(1, manifests.StageWorkloads, "first"), -10),
			object(2, manifests.StageWorkloads, "between"),
		}, []string{"first", "between", "last"}},
		{"instances are deleted before all other objects, whatever their order, because their controller is among the " +
			"other objects", []manifests.Object{
			object(0, manifests.StageDefinitions, "definition"), object(9, manifests.StageWorkloads, "controller"),
			ordered(object(9, manifests.StageInstances, "instance"), 100),
		}, []string{"instance", "controller", "definition"}},
		{
			"roles are deleted after definitions, because a role may contain the right to list the instances",
			[]manifests.Object{
				object(0, manifests.StageDefinitions, "definition"), role, object(0, manifests.StageNamespaces, "namespace"),
			},
			[]string{"definition", "role", "namespace"},
		},
		{"objects of the same stage are deleted together", []manifests.Object{
			object(0, manifests.StageWorkloads, "a"), object(0, manifests.StageWorkloads, "b"),
		}, []string{"a+b"}},
	} {
		for _, deleting := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: " in a deletion", false: " when pruned"}[deleting], func(t *testing.T) {
				x := &component{world: newWorld(), deleting: deleting}
				for _, o := range c.objects {
					x.applied(o)
				}
				var got []string
				p := x.pass(func(_ Facts, p Plan) {
					var names []string
					for _, a := range p.Actions {
						names = append(names, a.Key.Name)
					}
					if len(names) > 0 {
						got = append(got, strings.Join(names, "+"))
					}
				})
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
				if !p.Done() || len(p.Inventory) > 0 {
					t.Errorf("after the deletion the inventory still has %v", p.Inventory)
				}
			})
		}
	}
}

func TestDeletionWaits(t *testing.T) {
	controller, instance := desiredObject(0, manifests.StageWorkloads, "controller"), desiredObject(0,
		manifests.StageInstances, "instance")
	definition := desiredObject(0, manifests.StageDefinitions, "definition")
	for _, c := range []struct {
		name  string
		setUp func(*component)
		want  string
	}{
		{
			"the next stage waits until the objects of the current stage no longer exist",
			func(c *component) { c.world.objects[instance.Key].terminating = true },
			"wait for instance",
		},
		{
			"the next stage waits for an object whose state is unknown",
			func(c *component) { c.world.blind[instance.Key] = true },
			"wait for instance",
		},
		{
			"the next stage waits until a read confirms that the object no longer exists",
			func(c *component) { delete(c.world.objects, instance.Key) },
			"read instance",
		},
		{
			"an object that now has another owner is skipped", func(c *component) { c.world.objects[instance.Key].owner = them },
			"delete controller",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{world: newWorld(), deleting: true}
			for _, o := range []manifests.Object{definition, controller, instance} {
				x.applied(o)
			}
			c.setUp(x)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBlockers(t *testing.T) {
	definition, controller := desiredObject(0, manifests.StageDefinitions, "definition"), desiredObject(0,
		manifests.StageWorkloads, "controller")
	for _, c := range []struct {
		name     string
		deleting bool
		desired  []manifests.Object
		foreign  ForeignInstances
		setUp    func(*component)
		want     string
	}{
		{
			name: "a deletion is blocked while foreign instances exist", deleting: true, foreign: ForeignInstances{Count: 1},
			want: "blocked by Widget.example.com",
		},
		{
			name: "a deletion is blocked while instances cannot be listed", deleting: true,
			foreign: ForeignInstances{Err: errors.New("forbidden")}, want: "blocked by Widget.example.com",
		},
		{name: "a deletion without foreign instances continues", deleting: true, want: "delete controller"},
		{
			name: "foreign instances also block the pruning of a definition", foreign: ForeignInstances{Count: 1},
			want: "blocked by Widget.example.com",
		},
		{
			name:    "a definition that is still rendered does not block the pruning of other objects",
			desired: []manifests.Object{definition},
			foreign: ForeignInstances{Count: 1}, want: "delete controller",
		},
		{
			name: "a definition that now has another owner does not block the deletion", deleting: true,
			foreign: ForeignInstances{Count: 1},
			setUp:   func(c *component) { c.world.objects[definition.Key].owner = them }, want: "delete controller",
		},
		{
			name: "a definition without its owner label still blocks the deletion", deleting: true,
			foreign: ForeignInstances{Count: 1},
			setUp:   func(c *component) { c.world.objects[definition.Key].owner = "" }, want: "blocked by Widget.example.com",
		},
		{
			name: "a definition that the watch does not show is read before it blocks the deletion", deleting: true,
			foreign: ForeignInstances{Count: 1},
			setUp:   func(c *component) { c.world.objects[definition.Key].labelled = false }, want: "read definition",
		},
		{
			name: "a definition that no longer exists does not block the deletion, and need not be read first", deleting: true,
			setUp: func(c *component) { delete(c.world.objects, definition.Key) }, want: "delete controller",
		},
		{
			name: "a definition whose state is unknown still blocks the deletion", deleting: true,
			foreign: ForeignInstances{Count: 1},
			setUp:   func(c *component) { c.world.blind[definition.Key] = true }, want: "blocked by Widget.example.com",
		},
		{
			name: "a definition that another client is deleting blocks the deletion, so that the controller of its " +
				"instances stays", deleting: true,
			foreign: ForeignInstances{Count: 1},
			setUp:   func(c *component) { c.world.objects[definition.Key].terminating = true },
			want:    "blocked by Widget.example.com",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{
				world: newWorld(), deleting: c.deleting, desired: c.desired,
				foreign: map[manifests.ManagedType]ForeignInstances{widgets: c.foreign},
			}
			x.applied(definition)
			x.applied(controller)
			if c.setUp != nil {
				c.setUp(x)
			}
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDefinitionsOfOthers(t *testing.T) {
	definition, controller := desiredObject(0, manifests.StageDefinitions, "definition"), desiredObject(0,
		manifests.StageWorkloads, "controller")
	for _, c := range []struct {
		name    string
		setUp   func(*component)
		blocked bool
	}{
		{"a definition without an owner that the component never owned does not block the deletion", func(c *component) {
			x := c.applied(definition)
			x.owner, x.labelled = "", false
			e := c.inventory[definition.Key]
			e.UID, e.Digest, e.Fields = "", "", ""
			c.inventory[definition.Key] = e
		}, false},
		{"a definition that another client created in place of the component's definition does not block " +
			"the deletion", func(c *component) {
			c.applied(definition)
			c.world.add(definition.Key, "", "")
		}, false},
		{"a definition that no longer exists does not block the deletion, although instances are listed", func(c *component) {
			c.applied(definition)
			delete(c.world.objects, definition.Key)
		}, false},
		{"the component's definition without its owner label blocks the deletion", func(c *component) {
			x := c.applied(definition)
			x.owner, x.labelled = "", false
		}, true},
		{"the component's definition blocks the deletion while it cannot be read", func(c *component) {
			c.applied(definition).labelled = false
			c.world.unreadable[definition.Key] = true
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{
				world: newWorld(), deleting: true,
				foreign: map[manifests.ManagedType]ForeignInstances{widgets: {Count: 1}},
			}
			x.applied(controller)
			c.setUp(x)
			p := x.pass(func(_ Facts, p Plan) {
				for _, a := range p.Actions {
					if a.Verb == VerbDelete && a.Key == definition.Key {
						t.Errorf("the plan contains the unwanted action %s %s", a.Verb, a.Key)
					}
				}
			})
			if blocked := len(p.Blocked) > 0; blocked != c.blocked || p.Done() == c.blocked {
				t.Errorf("the plan is blocked by %v and waits for %v", p.Blocked, p.Waiting)
			}
		})
	}
}

func TestDeletionOfNothingIsDone(t *testing.T) {
	if p := ForDelete(Facts{Owner: us}); !p.Done() {
		t.Errorf("the plan for the deletion of a component without dependents is not done: %+v", p)
	}
}

func TestAdditionalManagedTypes(t *testing.T) {
	gadgets := manifests.ManagedType{GroupKind: schema.GroupKind{Group: "*.example.com", Kind: "Gadget"}}
	controller, gadget := desiredObject(0, manifests.StageWorkloads, "controller"), desiredObject(0,
		manifests.StageInstances, "gadget")
	gadget.Key.Group, gadget.Key.Kind = "a.example.com", "Gadget"
	for _, c := range []struct {
		name  string
		setUp func(*component)
		want  string
	}{
		{"instances of additional managed types are deleted first", func(*component) {}, "delete gadget"},
		{
			"a deletion is blocked while foreign " +
				"instances exist", func(c *component) { c.foreign[gadgets] = ForeignInstances{Count: 1} },
			"blocked by Gadget.*.example.com",
		},
		{
			"a deletion is blocked while it is unknown whether foreign instances exist",
			func(c *component) { c.foreign[gadgets] = ForeignInstances{Err: errors.New("forbidden")} },
			"blocked by Gadget.*.example.com",
		},
		{"a completed deletion is not blocked", func(c *component) {
			c.foreign[gadgets], c.inventory = ForeignInstances{Count: 1}, nil
		}, ""},
		{"instances of types that are not declared do not block the deletion", func(c *component) {
			c.foreign[gadgets], c.managed = ForeignInstances{Count: 1}, nil
		}, "delete gadget, delete controller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{
				world: newWorld(), deleting: true, managed: []manifests.ManagedType{gadgets},
				foreign: map[manifests.ManagedType]ForeignInstances{},
			}
			x.applied(controller)
			x.applied(gadget)
			c.setUp(x)
			if got := x.next(); got != c.want {
				t.Errorf("the next plan is  %s\nwant %s", got, c.want)
			}
		})
	}
}
