package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var update = flag.Bool("update", false, "write the golden files again")

// story is a scenario with a component in a world. The golden file of a story lists all plans until nothing changes any
// more.
type story struct {
	name, about string
	setUp       func(*component)
}

var (
	shopNamespace = desiredObject(-1, manifests.StageNamespaces, "shop")
	widgetType    = desiredObject(0, manifests.StageDefinitions, "widgets.example.com")
	settings      = desiredObject(0, manifests.StageConfiguration, "settings")
	controller    = desiredObject(0, manifests.StageWorkloads, "controller")
	hook          = desiredObject(0, manifests.StageBackends, "hook")
	widget        = desiredObject(0, manifests.StageInstances, "widget")
	front         = desiredObject(1, manifests.StageWorkloads, "front")
	shop          = []manifests.Object{shopNamespace, widgetType, settings, controller, hook, widget, front}
)

// migration is a workload that is deleted (purged) at the end of its wave.
var migration = purgedAt(0, desiredObject(0, manifests.StageWorkloads, "migration"))

func purgedAt(wave int, o manifests.Object) manifests.Object {
	o.Settings.PurgeOrder = &wave
	return o
}

// purged adds an object to the inventory, in the state after an apply and a purge.
func (c *component) purged(o manifests.Object) {
	c.applied(o)
	e := c.inventory[o.Key]
	e.Completed, e.UID = true, ""
	c.inventory[o.Key] = e
	delete(c.world.objects, o.Key)
}

func changed(o manifests.Object) manifests.Object {
	o.Digest = "d2"
	return o
}

// The Jobs of the deletion phases.
var (
	preJob  = phased(manifests.PhasePreDelete, "pre")
	postJob = phased(manifests.PhasePostDelete, "post")
)

func phased(phase manifests.Phase, name string) manifests.Object {
	o := desiredObject(0, manifests.StageWorkloads, name)
	o.Key.Group, o.Key.Kind, o.Settings.Phase, o.Ephemeral = "batch", "Job", phase, true
	return o
}

// prepare changes a component to one that is being deleted, with Jobs in both deletion phases.
func prepare(c *component) {
	for _, o := range []manifests.Object{settings, controller} {
		c.applied(o)
	}
	c.deleting, c.preDelete, c.postDelete = true, []manifests.Object{preJob}, []manifests.Object{postJob}
}

var stories = []story{
	{"first-apply", "All objects are new. The workloads and the instance are not ready at once.", func(c *component) {
		c.desired = shop
		for _, o := range []manifests.Object{controller, widget, front} {
			c.world.slow[o.Key] = true
		}
	}},
	{
		"first-apply-ready-at-once",
		"All objects are ready as soon as they are written. A single pass applies all of them.", func(c *component) {
			c.desired = shop
		},
	},
	{
		"restart-after-a-crash",
		"Three objects were created, but the responses were not recorded. We do not own all fields of one of " +
			"these objects.", func(c *component) {
			c.desired = shop
			for _, o := range []manifests.Object{shopNamespace, widgetType, settings} {
				c.applied(o)
				e := c.inventory[o.Key]
				e.UID, e.Digest, e.Fields = "", "", ""
				c.inventory[o.Key] = e
			}
			c.world.uncovered[settings.Key] = true
		},
	},
	{
		"upgrade",
		"A configuration and two workloads change. One workload is no longer rendered, and one " +
			"workload is new.", func(c *component) {
			old := desiredObject(0, manifests.StageWorkloads, "old")
			for _, o := range append(slices.Clone(shop), old) {
				c.applied(o)
			}
			fresh := desiredObject(1, manifests.StageWorkloads, "fresh")
			c.desired = []manifests.Object{
				shopNamespace, widgetType, changed(settings), changed(controller), hook,
				widget, fresh,
				changed(front),
			}
			c.world.slow[controller.Key], c.world.slow[fresh.Key], c.world.held[old.Key] = true, true, true
		},
	},
	{
		"repair",
		"One object drifted, one object was deleted, and one object lost its label, while the first wave " +
			"is not ready.", func(c *component) {
			c.desired = shop
			for _, o := range shop {
				c.applied(o)
			}
			c.world.objects[controller.Key].state = ready.InProgress
			c.world.drift(c.world.objects[settings.Key])
			delete(c.world.objects, front.Key)
			notOurs := c.world.objects[hook.Key]
			notOurs.owner, notOurs.labelled = "", false
			c.world.touch(notOurs)
		},
	},
	{
		"conflict",
		"The configuration has another owner. Later stages and waves wait, and no object is pruned.", func(c *component) {
			c.desired = shop
			c.applied(desiredObject(0, manifests.StageConfiguration, "old"))
			c.world.add(settings.Key, them, "d1")
		},
	},
	{"adoption", "The namespace and the configuration already exist, and have no owner.", func(c *component) {
		c.desired = []manifests.Object{shopNamespace, settings, controller}
		c.world.add(shopNamespace.Key, "", "")
		c.world.add(settings.Key, "", "")
	}},
	{"recreate", "A changed workload has the policy recreate. Finalizers delay its deletion.", func(c *component) {
		recreated := changed(controller)
		recreated.Settings.UpdatePolicy = "recreate"
		c.desired = []manifests.Object{shopNamespace, settings, recreated}
		for _, o := range []manifests.Object{shopNamespace, settings, controller} {
			c.applied(o)
		}
		c.world.held[controller.Key] = true
	}},
	{"purge", "A migration is deleted when its wave is ready, and finalizers delay its deletion. Objects of later purge " +
		"waves are deleted after that.", func(c *component) {
		c.desired = []manifests.Object{
			shopNamespace, purgedAt(1, desiredObject(0, manifests.StageConfiguration, "scratch")),
			settings, migration, front,
		}
		c.world.slow[migration.Key], c.world.held[migration.Key] = true, true
	}},
	{
		"purge-upgrade",
		"A purged object runs again because its manifest changed. Another object stays purged.", func(c *component) {
			other := purgedAt(0, desiredObject(0, manifests.StageWorkloads, "other"))
			c.desired = []manifests.Object{shopNamespace, settings, changed(migration), other, front}
			for _, o := range []manifests.Object{shopNamespace, settings, front} {
				c.applied(o)
			}
			c.purged(migration)
			c.purged(other)
		},
	},
	{
		"purge-in-turn",
		"Objects are purged in the order of their purge waves, also in waves without objects to apply.", func(c *component) {
			first := purgedAt(3, desiredObject(0, manifests.StageWorkloads, "first"))
			second := purgedAt(2, desiredObject(1, manifests.StageWorkloads, "second"))
			c.desired = []manifests.Object{first, second, desiredObject(4, manifests.StageWorkloads, "front")}
		},
	},
	{
		"purge-after-a-crash",
		"Two objects were recorded as completed before a crash. Only one of them was deleted " +
			"before the crash.", func(c *component) {
			other := purgedAt(0, desiredObject(0, manifests.StageWorkloads, "other"))
			c.desired = []manifests.Object{migration, other}
			for _, o := range c.desired {
				c.applied(o)
				e := c.inventory[o.Key]
				e.Completed = true
				c.inventory[o.Key] = e
			}
			delete(c.world.objects, migration.Key)
		},
	},
	{
		"purge-taken-over",
		"Another owner took over an object after it was recorded as completed. The object " +
			"is not purged.", func(c *component) {
			c.desired = []manifests.Object{migration, front}
			c.applied(migration).owner = them
			e := c.inventory[migration.Key]
			e.Completed = true
			c.inventory[migration.Key] = e
		},
	},
	{
		"deletion",
		"Instances are deleted first, then their controller, later the definition, and the namespace last. Another owner " +
			"has taken over one object.", func(c *component) {
			for _, o := range shop {
				c.applied(o)
			}
			c.deleting = true
			c.world.held[widget.Key], c.world.held[controller.Key] = true, true
			c.world.objects[settings.Key].owner = them
			delete(c.world.objects, hook.Key)
		},
	},
	{
		"deletion-phases",
		"A slow Job runs before the deletion, and another Job runs after the deletion. Finalizers delay the deletion of " +
			"the second Job.", func(c *component) {
			prepare(c)
			c.world.slow[preJob.Key], c.world.slow[postJob.Key], c.world.held[postJob.Key], c.world.held[controller.Key] = true,
				true, true, true
		},
	},
	{
		"deletion-phases-shared",
		"A Job is an ordinary dependent, and runs again in both deletion phases.", func(c *component) {
			inPre, inPost := phased(manifests.PhasePreDelete, "job"), phased(manifests.PhasePostDelete, "job")
			notPostDelete := phased(manifests.PhaseApply, "job")
			c.applied(settings)
			c.purged(notPostDelete)
			c.deleting, c.preDelete, c.postDelete = true, []manifests.Object{inPre}, []manifests.Object{inPost}
		},
	},
	{
		"deletion-phases-left-out",
		"The delete policy orphan releases all dependents, one of which is also an object of a phase. " +
			"No Job runs.", func(c *component) {
			prepare(c)
			shared := phased(manifests.PhaseApply, "shared")
			c.applied(shared)
			c.postDelete = append(c.postDelete, phased(manifests.PhasePostDelete, "shared"))
			c.orphans = true
			for key, e := range c.inventory {
				e.DeletePolicy = metav1alpha1.DeleteOrphan
				c.inventory[key] = e
			}
		},
	},
	{
		"deletion-phases-policy-not-recorded",
		"The component has the delete policy orphan, but the policy delete is recorded. The dependents are deleted, and " +
			"the Jobs run.", func(c *component) {
			prepare(c)
			c.orphans = true
		},
	},
	{
		"deletion-phases-after-a-crash",
		"The pre-delete Job was created, but the response was not recorded. The post-delete Job " +
			"was deleted.", func(c *component) {
			prepare(c)
			c.applied(preJob)
			e := c.inventory[preJob.Key]
			e.UID, e.Digest, e.Fields = "", "", ""
			c.inventory[preJob.Key] = e
			e = metav1alpha1.InventoryEntry{
				Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "post",
				Phase: "post-delete", Digest: "d1", Completed: true,
			}
			c.inventory[postJob.Key] = e
		},
	},
	{"deletion-phases-skipped", "The namespace of the Jobs is being deleted. The Jobs are skipped.", func(c *component) {
		prepare(c)
		c.world.closed["shop"] = true
	}},
	{"deletion-phases-failed", "The pre-delete Job fails. No other object is changed.", func(c *component) {
		prepare(c)
		c.applied(preJob).state = ready.Failed
	}},
	{"deletion-refused", "Foreign instances exist. No object is changed.", func(c *component) {
		for _, o := range shop {
			c.applied(o)
		}
		c.deleting = true
		c.foreign = map[manifests.ManagedType]ForeignInstances{widgets: {
			Count: 1,
			Keys:  []manifests.Key{{Group: "example.com", Kind: "Widget", Namespace: "other", Name: "theirs"}},
		}}
	}},
	{
		"deletion-keeps-claims",
		"One PersistentVolumeClaim is orphaned, and another claim is deleted. The namespace is not deleted while it holds " +
			"the orphaned claim.", func(c *component) {
			kept, cache := desiredObject(0, manifests.StageConfiguration, "data"), desiredObject(0, manifests.StageConfiguration,
				"cache")
			kept.Key.Group, kept.Key.Kind = "", "PersistentVolumeClaim"
			cache.Key.Group, cache.Key.Kind, cache.Settings.DeletePolicy = "", "PersistentVolumeClaim", metav1alpha1.DeleteDelete
			for _, o := range []manifests.Object{shopNamespace, kept, cache, controller} {
				c.applied(o)
			}
			c.deleting = true
			c.contents = map[string]Contents{"shop": {
				Count: 1,
				Keys:  []manifests.Key{{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}},
			}}
		},
	},
	{"deletion-blind", "Workloads cannot be watched for a while. They are not treated as deleted.", func(c *component) {
		for _, o := range shop {
			c.applied(o)
		}
		c.deleting = true
		c.world.blind[controller.Key] = true
	}},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			c := &component{world: newWorld(), inventory: Inventory{}}
			s.setUp(c)
			got := "# " + s.about + "\n" + c.tell()
			compareGolden(t, s.name, got)
		})
	}
}

// compareGolden compares got with a golden file in testdata. With the flag -update it writes the file first.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the golden file differs; run the test with -update, and review the difference:\n%s", diff)
	}
}

// tell makes passes until a pass is done, or nothing changes any more. tell returns a text with all plans.
func (c *component) tell() string {
	var b strings.Builder
	for pass := 1; ; pass++ {
		fmt.Fprintf(&b, "\npass %d\n", pass)
		before := b.Len()
		p := c.pass(func(f Facts, p Plan) { b.WriteString(p.text(f.Inventory)) })
		if p.Done() {
			return b.String() + "done\n"
		}
		told := b.String()[before:]
		c.world.passTime()
		if c.settledLike(told) {
			return b.String() + "stays so\n"
		}
	}
}

// settledLike reports whether another pass would have the same plans as told, the text of the last pass.
func (c *component) settledLike(told string) bool {
	copied := *c
	copied.world = c.world.clone()
	var b strings.Builder
	copied.pass(func(f Facts, p Plan) { b.WriteString(p.text(f.Inventory)) })
	return b.String() == told
}

// text returns a text with the actions, the waits and the counts of a plan.
func (p Plan) text(before Inventory) string {
	var b strings.Builder
	if p.WriteInventory {
		fmt.Fprintf(&b, "  record %d dependents\n", len(p.Inventory))
	}
	for _, key := range sortedKeys(before) {
		if _, kept := p.Inventory[key]; !kept {
			fmt.Fprintf(&b, "  forget %s\n", key)
		}
	}
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "  wave %d: %s %s: %s\n", a.Wave, strings.ToLower(string(a.Verb)), a.Key, a.Reason)
	}
	if len(p.Actions) > 0 {
		return b.String() + "  then\n"
	}
	for _, w := range p.Waiting {
		fmt.Fprintf(&b, "  wave %d: wait for %s: %s: %s\n", w.Wave, w.Key, w.Reason, w.Message)
	}
	for _, x := range p.Blocked {
		fmt.Fprintf(&b, "  blocked: %d foreign instances of %s: %s\n", x.Foreign.Count, x.Type,
			strings.Trim(fmt.Sprint(x.Foreign.Keys), "[]"))
	}
	if p.Desired > 0 {
		fmt.Fprintf(&b, "  %d/%d ready, applied: %v\n", p.Ready, p.Desired, p.Applied)
	}
	return b.String()
}
