package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// twice returns a Job with two occurrences: before and after the objects of wave 0. The argument how selects whether
// the Job is purged after each occurrence, recreated for the second occurrence, or applied in place. Each occurrence
// has its own digest.
func twice(content, how string) []manifests.Object {
	all := make([]manifests.Object, 0, 2)
	for i, order := range []int{-5, 5} {
		o := desiredObject(order, manifests.StageWorkloads, "job")
		o.Key.Group, o.Key.Kind, o.Ephemeral, o.Occurrence = "batch", "Job", true, i
		o.Digest = fmt.Sprintf("%s-%d.s%d", content, i, i)
		switch how {
		case "purged":
			o.Settings.PurgeOrder, o.Settings.UpdatePolicy = new(order+1), metav1alpha1.UpdateRecreate
		case "recreated":
			o.Settings.UpdatePolicy = metav1alpha1.UpdateRecreate
		case "in place":
		}
		all = append(all, o)
	}
	return all
}

// around returns a set of a workload, and a Job with one occurrence before and one occurrence after the workload.
func around(content, how string) []manifests.Object {
	job := twice(content, how)
	return []manifests.Object{job[0], controller, job[1]}
}

var occurrenceStories = []story{
	{"occurrences", "A Job runs before and after a slow workload, and is deleted after each run.", func(c *component) {
		c.desired = around("d1", "purged")
		c.world.slow[controller.Key] = true
	}},
	{
		"occurrences-recreated",
		"A Job runs before and after a workload. Finalizers delay its deletion before the second run.", func(c *component) {
			c.desired = around("d1", "recreated")
			c.world.held[c.desired[0].Key] = true
		},
	},
	{
		"occurrences-in-place",
		"A Job with two occurrences is not recreated. It is applied again at its second occurrence.", func(c *component) {
			c.desired = around("d1", "in place")
		},
	},
	{"occurrences-failed", "The first run of the Job fails. No later object is changed.", func(c *component) {
		c.desired = around("d1", "recreated")
		c.applied(c.desired[0]).state = ready.Failed
	}},
	{"occurrences-taken-over", "Another owner has taken over the Job before its second occurrence.", func(c *component) {
		c.desired = around("d1", "recreated")
		c.applied(c.desired[0]).owner = them
		c.applied(controller)
		e := c.inventory[c.desired[0].Key]
		e.Completed = true
		c.inventory[c.desired[0].Key] = e
	}},
}

func TestOccurrenceStories(t *testing.T) {
	for _, s := range occurrenceStories {
		t.Run(s.name, func(t *testing.T) {
			c := &component{world: newWorld(), inventory: Inventory{}}
			s.setUp(c)
			compareGolden(t, s.name, "# "+s.about+"\n"+c.tell())
		})
	}
}

// process simulates an operator that may crash. process writes the inventory in the same order as the engine.
type process struct {
	*world
	desired  []manifests.Object
	revision int64
	// recorded is the persisted inventory.
	recorded Inventory
	// actions is the number of actions in all passes. The process crashes at the action with the number crashAt: after
	// the action was carried out if unanswered is set, and before that otherwise.
	actions, crashAt int
	unanswered       bool
	told             []string
}

// pass makes plans and performs their actions until a plan contains no actions. done is false after a crash.
func (c *process) pass() (p Plan, done bool) {
	inventory, results := maps.Clone(c.recorded), map[manifests.Key]Result{}
	record := false
	for {
		f := Facts{
			Owner: us, Names: Names{All: true}, Defaults: Policies{
				Update:   metav1alpha1.UpdateSSAOverride,
				Adoption: metav1alpha1.AdoptIfUnowned,
			},
			Desired: c.desired, Revision: c.revision, Inventory: inventory, Recorded: c.recorded, Results: results,
			Now: sceneTime,
		}
		f = f.seen(func(key manifests.Key) Observed {
			watched := c.watched(key)
			if o := results[key].Observed; o != nil && (watched.Presence != Present ||
				watched.ResourceVersion == o.ResourceVersion) {
				return *o
			}
			return watched
		})
		p = ForApply(f)
		inventory, record = p.Inventory, record || p.WriteInventory
		if len(p.Actions) == 0 {
			c.recorded = inventory
			return p, true
		}
		if record {
			c.recorded, record = maps.Clone(inventory), false
		}
		for _, a := range p.Actions {
			if c.actions++; c.actions == c.crashAt && !c.unanswered {
				return p, false
			}
			r := c.perform(a)
			if a.Verb.Writes() && r.Verb == a.Verb {
				c.told = append(c.told, strings.ToLower(string(a.Verb))+" "+a.Key.Name)
			}
			if c.actions == c.crashAt {
				return p, false
			}
			r.Attempts = results[a.Key].Attempts + 1
			results[a.Key] = r
		}
	}
}

// settle makes passes, also after a crash, until a pass has nothing left to do.
func (c *process) settle(t *testing.T) {
	t.Helper()
	for range 12 {
		p, done := c.pass()
		if done && p.Done() {
			if p.Ready != p.Desired || p.Desired != CountObjects(c.desired) {
				t.Errorf("the plan counts %d of %d objects as ready", p.Ready, p.Desired)
			}
			return
		}
		c.passTime()
	}
	t.Fatalf("the plan is not done after 12 passes, which made the writes %q", c.told)
}

// An occurrence is applied once, even if the process crashes between the record of the inventory and the response to
// the write.
func TestOccurrencesAreAppliedOnceAndInOrderAfterACrash(t *testing.T) {
	first := map[string][]string{
		"purged":    {"create job", "delete job", "create controller", "create job", "delete job"},
		"recreated": {"create job", "create controller", "delete job", "create job"},
		"in place":  {"create job", "create controller", "apply job"},
	}
	upgrade := map[string][]string{
		"purged":    {"create job", "delete job", "create job", "delete job"},
		"recreated": {"delete job", "create job", "delete job", "create job"},
		"in place":  {"apply job", "apply job"},
	}
	for how, want := range first {
		for _, held := range []bool{false, true} {
			for crashAt := range 12 {
				for _, unanswered := range []bool{false, true} {
					name := fmt.Sprintf("%s, held %t, crash at %d, unanswered %t", how, held, crashAt, unanswered)
					t.Run(name, func(t *testing.T) {
						c := &process{
							world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", how), crashAt: crashAt,
							unanswered: unanswered,
						}
						c.held[c.desired[0].Key] = held
						c.settle(t)
						if !slices.Equal(c.told, want) {
							t.Errorf("the installation made the wrong writes %q, want %q", c.told, want)
						}
						c.told = nil
						c.settle(t)
						if len(c.told) > 0 {
							t.Errorf("the passes after the complete installation made the writes %q, want none", c.told)
						}
						// The process also crashes during the upgrade.
						c.desired, c.revision, c.actions = around("d2", how), 2, 0
						c.settle(t)
						if !slices.Equal(c.told, upgrade[how]) {
							t.Errorf("the upgrade made the wrong writes %q, want %q", c.told, upgrade[how])
						}
					})
				}
			}
		}
	}
}

// A new revision begins with the first occurrence again, at any point of the previous revision.
func TestAnUpgradeBetweenTwoOccurrencesBeginsWithTheFirst(t *testing.T) {
	for _, how := range []string{"purged", "recreated"} {
		for crashAt := 1; crashAt < 9; crashAt++ {
			for _, unanswered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, crash at %d, unanswered %t", how, crashAt, unanswered), func(t *testing.T) {
					c := &process{
						world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", how), crashAt: crashAt,
						unanswered: unanswered,
					}
					c.pass()
					c.desired, c.revision, c.told = around("d2", how), 2, nil
					c.settle(t)
					creates := slices.DeleteFunc(slices.Clone(c.told), func(s string) bool { return s != "create job" })
					if len(creates) != 2 {
						t.Errorf("want two creates of the Job, got the writes %q", c.told)
					}
					if e := c.recorded[c.desired[0].Key]; e.Occurrence != 2 || e.Revision != 2 {
						t.Errorf("the inventory has the entry %s, want occurrence 2 of revision 2", e)
					}
				})
			}
		}
	}
}

func TestWhatIsNoNewContentRunsNoOccurrenceAgain(t *testing.T) {
	for name, change := range map[string]func(*process){
		"a restart": func(*process) {},
		"a new revision of the same content": func(c *process) {
			c.revision = 2
		},
		"a rendition with other settings": func(c *process) {
			for i := range c.desired {
				c.desired[i].Digest = strings.Replace(c.desired[i].Digest, ".s", ".t", 1)
			}
		},
		"a rendition with another content":    func(c *process) { c.desired = around("d2", "purged") },
		"a new revision with one order fewer": func(c *process) { c.desired = c.desired[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			c := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", "purged")}
			c.settle(t)
			c.told = nil
			change(c)
			c.settle(t)
			if len(c.told) > 0 {
				t.Errorf("the passes made the writes %q, want none", c.told)
			}
		})
	}
}

// The previous revision of the object had a single occurrence, so its entry has no occurrence.
func TestAnObjectThatHadOneOrderDoesNotRunForTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		purged   bool
		revision int64
		want     []string
	}{
		"while the object stays at its first order":      {false, 1, nil},
		"after the object was purged at its first order": {true, 1, nil},
		"after the object was purged, in a new revision": {true, 2, []string{
			"create job", "delete job", "create job",
			"delete job",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			previous := around("d0", "purged")[:2]
			if !c.purged {
				previous = around("d0", "recreated")[:2]
			}
			p := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: previous}
			p.settle(t)
			if e := p.recorded[previous[0].Key]; e.Occurrence != 0 {
				t.Fatalf("the inventory has the entry %s, want no occurrence", e)
			}
			p.told, p.revision, p.desired = nil, c.revision, around("d1",
				map[bool]string{true: "purged", false: "recreated"}[c.purged])
			p.settle(t)
			if !slices.Equal(p.told, c.want) {
				t.Errorf("the passes made the wrong writes %q", p.told)
			}
		})
	}
}

func TestWhatIsAppliedOnceIsAppliedOnceAtEachPoint(t *testing.T) {
	c := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", "recreated")}
	for i := range c.desired {
		c.desired[i].Settings.ReconcilePolicy = metav1alpha1.ReconcileOnce
	}
	c.settle(t)
	if want := []string{"create job", "create controller", "delete job", "create job"}; !slices.Equal(c.told, want) {
		t.Errorf("the passes made the wrong writes %q", c.told)
	}
	c.told, c.revision = nil, 2
	changed := around("d2", "recreated")
	for i := range changed {
		changed[i].Settings.ReconcilePolicy = metav1alpha1.ReconcileOnce
	}
	c.desired = changed
	c.settle(t)
	if len(c.told) > 0 {
		t.Errorf("the later passes made the writes %q, want none", c.told)
	}
}

func TestARepairBetweenTwoOccurrencesIsThatOfTheFirst(t *testing.T) {
	c := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", "in place")}
	c.slow[controller.Key] = true
	if p, _ := c.pass(); len(p.Waiting) != 1 || p.Ready != 0 || p.Desired != 2 {
		t.Fatalf("the plan counts %d of %d objects as ready and waits for %v, want 0 of 2 and one waiting object", p.Ready,
			p.Desired, p.Waiting)
	}
	key := c.desired[0].Key
	c.drift(c.objects[key])
	c.told = nil
	c.pass()
	if want := []string{"apply job"}; !slices.Equal(c.told, want) || c.objects[key].digest != c.desired[0].Digest {
		t.Errorf("the passes made the wrong writes %q, or the object has the wrong digest %s", c.told, c.objects[key].digest)
	}
}

// failing returns a process with a Job before and after a workload. The Job is deleted when it fails.
func failing() *process {
	c := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", "recreated")}
	for i := range c.desired {
		c.desired[i].Settings.PurgeFailed = true
	}
	c.slow[c.desired[0].Key] = true
	return c
}

func TestWhatFailedIsDeletedAndStaysFailedUntilItsContentChanges(t *testing.T) {
	for crashAt := range 5 {
		for _, unanswered := range []bool{false, true} {
			t.Run(fmt.Sprintf("crash at %d, unanswered %t", crashAt, unanswered), func(t *testing.T) {
				c := failing()
				key := c.desired[0].Key
				c.pass()
				c.objects[key].state = ready.Failed
				c.touch(c.objects[key])
				c.crashAt, c.unanswered, c.actions = crashAt, unanswered, 0
				var p Plan
				for range 4 {
					p, _ = c.pass()
				}
				if want := []string{"create job", "delete job"}; !slices.Equal(c.told, want) {
					t.Errorf("the passes must create and delete the failed Job, got the writes %q", c.told)
				}
				if len(p.Waiting) != 1 || !strings.HasPrefix(p.Waiting[0].Message, "it is Failed; it was deleted") {
					t.Errorf("the plan waits for the wrong objects: %v", p.Waiting)
				}
				if e := c.recorded[key]; e.Failed != "it is Failed" {
					t.Errorf("the inventory has the entry %s, want the failure of the Job", e)
				}
				c.told, c.slow[key], c.desired, c.revision = nil, false, around("d2", "recreated"), 2
				c.settle(t)
				if want := []string{"create job", "create controller", "delete job", "create job"}; !slices.Equal(c.told, want) {
					t.Errorf("the upgrade made the wrong writes %q", c.told)
				}
				if e := c.recorded[key]; e.Failed != "" {
					t.Errorf("the inventory has the entry %s, want no failure after the upgrade", e)
				}
			})
		}
	}
}

// An inventory that was rebuilt from labels has no digests.
func TestAfterTheLossOfTheRecordTheLiveObjectTellsTheOccurrence(t *testing.T) {
	c := &process{world: newWorld(), recorded: Inventory{}, revision: 1, desired: around("d1", "recreated")}
	c.settle(t)
	for key, e := range c.recorded {
		c.recorded[key] = metav1alpha1.InventoryEntry{
			Group: e.Group, Version: e.Version, Kind: e.Kind,
			Namespace: e.Namespace, Name: e.Name, UID: e.UID,
		}
	}
	c.told = nil
	c.settle(t)
	if len(c.told) > 0 || c.recorded[c.desired[0].Key].Occurrence != 2 {
		t.Errorf("the passes made the writes %q and recorded %s, want no write and occurrence 2", c.told,
			c.recorded[c.desired[0].Key])
	}
}
