package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/ready"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// depending returns a workload that depends on the given objects.
func depending(name string, on ...manifests.Object) manifests.Object {
	o := desiredObject(0, manifests.StageWorkloads, name)
	o.Settings.Graph = &manifests.GraphSettings{}
	for _, dependency := range on {
		o.Settings.Graph.Edges = append(o.Settings.Graph.Edges, dependency.Key)
		o.Settings.Graph.DependsOn = append(o.Settings.Graph.DependsOn, manifests.Dependency{Key: dependency.Key})
	}
	o.Settings.Graph.List = settingtext.JoinDependencies(o.Settings.Graph.DependsOn)
	return o
}

// waits returns the reasons and messages of a plan's waits, by the name of the object.
func waits(p Plan) string {
	var texts []string
	for _, w := range p.Waiting {
		text := fmt.Sprintf("%s: %s: %s", w.Key.Name, w.Reason, w.Message)
		if w.Failure != nil {
			text = string(w.Failure.Class) + " " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

func TestWaitsForDependencies(t *testing.T) {
	db := desiredObject(3, manifests.StageWorkloads, "db")
	claim := manifests.Object{
		Key: manifests.Key{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}, Version: "v1",
		Scope: manifests.ScopeNamespaced, Stage: manifests.StageConfiguration, Digest: "d1",
	}
	job := purgedAt(3, desiredObject(3, manifests.StageWorkloads, "job"))
	web, front := depending("web", db), depending("front", depending("web", db))
	for _, c := range []struct {
		name  string
		setUp func(*component)
		want  string
	}{
		{"an object of a wave that is not reached", func(c *component) {
			c.desired = []manifests.Object{slow(c, desiredObject(0, manifests.StageWorkloads, "first")), db, web}
		}, "first: InProgress: it is InProgress\nweb: DependencyNotReady: waits for Deployment.apps shop/db: it is " +
			"not applied yet"},
		{"an object that is not ready, and a chain", func(c *component) {
			c.desired = []manifests.Object{slow(c, db), web, front, depending("end", front)}
		}, "db: InProgress: it is InProgress\n" +
			"web: DependencyNotReady: waits for Deployment.apps shop/db: it is InProgress\n" +
			"front: DependencyNotReady: waits for Deployment.apps shop/web, which is held up by Deployment.apps " +
			"shop/db: it is " +
			"InProgress\n" +
			"end: DependencyNotReady: waits for Deployment.apps shop/front, which is held up by Deployment.apps shop/db: it " +
			"is InProgress"},
		{"a failed object comes before others, and holds up its descendants alone", func(c *component) {
			broken := desiredObject(4, manifests.StageWorkloads, "broken")
			c.world.add(broken.Key, them, "theirs")
			c.desired = []manifests.Object{slow(c, db), broken, depending("both", db, broken), depending("free")}
			c.desired[3].Settings.Graph = &manifests.GraphSettings{DependsOn: []manifests.Dependency{{
				Group:    "none",
				Optional: true,
			}}, List: "@none?"}
		}, "db: InProgress: it is InProgress\n" +
			"Terminal broken: OwnershipConflict: it is owned by them; rename it here" + moves(podsStop) + "\n" +
			"both: DependencyNotReady: waits for Deployment.apps shop/broken: it is owned by them … (and for 1 more)"},
		{"a claim that waits for its consumer does not hold up", func(c *component) {
			c.desired = []manifests.Object{slow(c, claim), depending("web", claim)}
		}, "data: InProgress: it is InProgress"},
		{"a purged object does not hold up", func(c *component) {
			c.desired = []manifests.Object{job, depending("web", job)}
			c.purged(job)
		}, ""},
		{"an object with the policy once does not hold up after it was applied", func(c *component) {
			once := db
			once.Settings.ReconcilePolicy = metav1alpha1.ReconcileOnce
			c.desired = []manifests.Object{once, web}
			c.applied(once)
			delete(c.world.objects, once.Key)
		}, ""},
		{"a repair does not wait", func(c *component) {
			c.desired = []manifests.Object{slow(c, db), web}
			c.world.drift(c.applied(web))
		}, "db: InProgress: it is InProgress"},
		{"an update waits", func(c *component) {
			c.desired = []manifests.Object{slow(c, db), changed(web)}
			c.applied(web)
		}, "db: InProgress: it is InProgress\nweb: DependencyNotReady: waits for Deployment.apps shop/db: it is InProgress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &component{world: newWorld()}
			c.setUp(x)
			if got := waits(x.pass(func(Facts, Plan) {})); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// slow makes an object unready after its apply.
func slow(c *component, o manifests.Object) manifests.Object {
	c.world.slow[o.Key] = true
	return o
}

// An object with several orders is a met dependency at its last order.
func TestDependencyWithSeveralOrders(t *testing.T) {
	c := &component{world: newWorld()}
	first, last := desiredObject(0, manifests.StageWorkloads, "db"), desiredObject(2, manifests.StageWorkloads, "db")
	last.Occurrence, last.Digest = 1, "d2"
	c.desired = []manifests.Object{
		first, slow(c, desiredObject(1, manifests.StageWorkloads, "between")), last,
		depending("web", first),
	}
	want := "between: InProgress: it is InProgress\nweb: DependencyNotReady: waits for Deployment.apps shop/db: it is " +
		"not applied yet"
	if got := waits(c.pass(func(Facts, Plan) {})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.world.passTime()
	if p := c.pass(func(Facts, Plan) {}); !p.Done() || p.Ready != 3 {
		t.Errorf("got %s, %d ready", waits(p), p.Ready)
	}
}

func TestTimeoutOfAWaitForDependencies(t *testing.T) {
	c := &component{world: newWorld()}
	db := slow(c, desiredObject(0, manifests.StageWorkloads, "db"))
	web := depending("web", db)
	web.Settings.Graph.Timeout = 2 * time.Second
	c.desired = []manifests.Object{db, web}
	nothing := func(Facts, Plan) {}
	p := c.pass(nothing)
	start := c.inventory[web.Key].HeldSince
	if due := p.NextDue; waits(p) == "" || !due.Equal(sceneTime.Add(3*time.Second)) {
		t.Errorf("got %s, next plan at %s", waits(p), due)
	}
	c.pass(nothing)
	p = c.pass(nothing)
	want := "db: InProgress: it is InProgress\n" +
		"Terminal web: Timeout: its dependencies are not ready within 2s: waits for " +
		"Deployment.apps shop/db: it is InProgress; it is applied as soon as they are ready"
	if waits(p) != want || c.inventory[web.Key].HeldSince != start {
		t.Errorf("got\n%s\nwant\n%s", waits(p), want)
	}
	if c.inventory[web.Key].DependsOn != "Deployment.apps shop/db" {
		t.Errorf("the record is %s", c.inventory[web.Key])
	}
	c.world.passTime()
	if p = c.pass(nothing); !p.Done() || c.inventory[web.Key].HeldSince != "" {
		t.Errorf("got %s, %s", waits(p), c.inventory[web.Key])
	}
}

// The time starts also while a value is missing, and the message names the value.
func TestTimeoutOfAWaitForAValue(t *testing.T) {
	db, web := desiredObject(0, manifests.StageWorkloads, "db"), depending("web")
	web.Settings.Graph.DependsOn, web.Settings.Graph.Timeout = []manifests.Dependency{{Key: db.Key}}, 2*time.Second
	f := Facts{
		Owner: us, Desired: []manifests.Object{web}, Now: sceneTime,
		Unbound: map[manifests.Key]Unbound{web.Key: {Message: "it waits for x"}},
		Live:    Snapshot{web.Key: &Observed{Presence: Absent, Confirmed: true}},
	}
	p := ForApply(f)
	if got := waits(p); got != "web: ExportMissing: it waits for x" || p.NextDue.IsZero() {
		t.Errorf("got %s, next plan at %s", got, p.NextDue)
	}
	f.Inventory, f.Now = p.Inventory, sceneTime.Add(3*time.Second)
	want := "Terminal web: Timeout: its dependencies are not ready within 2s: it waits for x; it is applied as soon as " +
		"they are ready"
	if got := waits(ForApply(f)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An observed object counts as not ready until its dependencies are ready.
func TestAnObservedObjectWaitsForItsDependencies(t *testing.T) {
	db := desiredObject(0, manifests.StageWorkloads, "db")
	theirs := depending("theirs", db)
	theirs.Settings.ReconcilePolicy = metav1alpha1.ReconcileObserve
	web := depending("web", theirs)
	c := &component{world: newWorld()}
	c.world.add(theirs.Key, them, "theirs")
	c.desired = []manifests.Object{slow(c, db), theirs, web}
	want := "db: InProgress: it is InProgress\ntheirs: DependencyNotReady: waits for Deployment.apps shop/db: it is " +
		"InProgress\n" +
		"web: DependencyNotReady: waits for Deployment.apps shop/theirs, which is held up by Deployment.apps shop/db: " +
		"it is InProgress"
	if got := waits(c.pass(func(Facts, Plan) {})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.world.passTime()
	if p := c.pass(func(Facts, Plan) {}); !p.Done() || p.Ready != 3 || c.world.objects[theirs.Key].owner != them {
		t.Errorf("got %s, %d ready", waits(p), p.Ready)
	}
}

// An excluded object that is only observed is orphaned, whatever its recorded delete policy is.
func TestAnExcludedObservedObjectIsReleased(t *testing.T) {
	c := &component{world: newWorld()}
	o := desiredObject(0, manifests.StageConfiguration, "theirs")
	c.applied(o)
	f := Facts{Owner: us, Inventory: c.inventory, Excluded: map[manifests.Key]bool{o.Key: false}, Reason: ReasonPruned}
	f = f.seen(c.world.watched)
	if p := ForApply(f); len(p.Actions) != 1 || p.Actions[0].Verb != VerbOrphan {
		t.Errorf("got %v", p.Actions)
	}
	f.Excluded[o.Key] = true
	if p := ForApply(f); len(p.Actions) != 1 || p.Actions[0].Verb != VerbDelete || p.Actions[0].Reason != ReasonExcluded {
		t.Errorf("got %v", p.Actions)
	}
}

// A later stage of the same wave may export the value that a condition waits for; a later wave may not.
func TestAConditionWithoutAValueHoldsUpLaterWaves(t *testing.T) {
	conditional, stage, wave := desiredObject(0, manifests.StageConfiguration, "conditional"), desiredObject(0,
		manifests.StageWorkloads, "stage"),
		desiredObject(1, manifests.StageConfiguration, "wave")
	conditional.Held = &manifests.Held{Undecided: "why"}
	for _, c := range []struct {
		exports []string
		want    string
	}{{nil, ""}, {[]string{"x"}, "stage"}} {
		conditional.Settings.Conditions = &manifests.Conditions{Exports: c.exports}
		f := Facts{Owner: us, Desired: []manifests.Object{conditional, stage, wave}}
		created := ""
		for _, a := range ForApply(f.seen(newWorld().watched)).Actions {
			created += a.Key.Name
		}
		if created != c.want {
			t.Errorf("%v: creates %q, want %q", c.exports, created, c.want)
		}
	}
}

// A new revision gives the dependencies the full time again.
func TestTheTimeoutOfAWaitRestartsWithARevision(t *testing.T) {
	c := candidate{revision: 2, now: time.Unix(100, 0)}
	for recorded, want := range map[string]int64{"": 100, "50/2": 50, "50/1": 100, "x/2": 100} {
		if got := c.heldSince(metav1alpha1.InventoryEntry{HeldSince: recorded}); got.Unix() != want {
			t.Errorf("%q: got %d, want %d", recorded, got.Unix(), want)
		}
	}
}

// Until a write is confirmed, the record contains the previous and the new dependencies.
func TestDependenciesAreRecordedBeforeTheWrite(t *testing.T) {
	c := &component{world: newWorld()}
	a, b := desiredObject(0, manifests.StageWorkloads, "a"), desiredObject(0, manifests.StageWorkloads, "b")
	web := depending("web", b)
	web.Digest = "d1.s2"
	for _, o := range []manifests.Object{a, b, depending("web", a)} {
		c.applied(o)
	}
	c.desired = []manifests.Object{a, b, web}
	var recorded []string
	p := c.pass(func(_ Facts, p Plan) {
		recorded = append(recorded, fmt.Sprint(p.WriteInventory, " ", p.Inventory[web.Key].DependsOn))
	})
	want := "true Deployment.apps shop/a, Deployment.apps shop/b; false Deployment.apps shop/b"
	if got := strings.Join(recorded, "; "); got != want || !p.Done() {
		t.Errorf("got %s, %s", got, waits(p))
	}
}

// An instance goes before all objects, except those that depend on an instance. So two applications with an instance
// each do not block each other.
func TestDeletionOfInstancesAndTheirDependents(t *testing.T) {
	c := &component{world: newWorld(), deleting: true, managed: []manifests.ManagedType{widgets}}
	db1, db2 := desiredObject(0, manifests.StageInstances, "db1"), desiredObject(0, manifests.StageInstances, "db2")
	controller := desiredObject(0, manifests.StageWorkloads, "controller")
	for _, o := range []manifests.Object{
		db1, db2, controller, depending("app1", db1), depending("app2", db2), depending("other", controller),
	} {
		c.applied(o)
	}
	var turns []string
	for range 5 {
		if text := c.pass(func(_ Facts, p Plan) {
			text := ""
			for _, a := range p.Actions {
				if a.Verb == VerbDelete {
					text += a.Key.Name + " "
				}
			}
			if text != "" {
				turns = append(turns, strings.TrimSpace(text))
			}
		}); text.Done() {
			break
		}
	}
	if got, want := strings.Join(turns, "; "), "app1 app2; db1 db2; other; controller"; got != want ||
		len(c.inventory) > 0 {
		t.Errorf("got %s, want %s; left %v", got, want, c.inventory)
	}
}

// An object is pruned after the pruned objects that depend on it, also if only its own policy is at-once.
func TestPruningKeepsTheOrder(t *testing.T) {
	c := &component{world: newWorld()}
	db := desiredObject(0, manifests.StageWorkloads, "db")
	db.Settings.Rare = &manifests.RareSettings{PrunePolicy: metav1alpha1.PruneAtOnce}
	free := desiredObject(0, manifests.StageConfiguration, "free")
	free.Settings.Rare = &manifests.RareSettings{PrunePolicy: metav1alpha1.PruneAtOnce}
	for _, o := range []manifests.Object{db, free, depending("web", db)} {
		c.applied(o)
	}
	c.desired = []manifests.Object{slow(c, desiredObject(0, manifests.StageWorkloads, "new"))}
	c.pass(func(Facts, Plan) {})
	if c.world.objects[db.Key] == nil || c.world.objects[free.Key] != nil {
		t.Error("the object that others depend on is pruned too early, or the other object too late")
	}
	c.world.objects[c.desired[0].Key].state = ready.Ready
	if p := c.pass(func(Facts, Plan) {}); !p.Done() || len(c.inventory) != 1 {
		t.Errorf("got %s, %v", waits(p), c.inventory)
	}
}

// An object that depends on a group of instances, and is pruned later, delays no object that is pruned at once.
func TestPruningAtOnceDoesNotWaitForOtherGroups(t *testing.T) {
	c := &component{world: newWorld(), managed: []manifests.ManagedType{widgets}}
	free := depending("free", desiredObject(0, manifests.StageWorkloads, "new"))
	free.Settings.Rare = &manifests.RareSettings{PrunePolicy: metav1alpha1.PruneAtOnce}
	db, later := desiredObject(0, manifests.StageInstances, "db"), depending("later")
	db.Settings.Graph = &manifests.GraphSettings{Group: "dbs"}
	later.Settings.Graph = &manifests.GraphSettings{DependsOn: []manifests.Dependency{{Group: "dbs"}}, List: "@dbs"}
	for _, o := range []manifests.Object{db, later, free} {
		c.applied(o)
	}
	c.desired = []manifests.Object{slow(c, desiredObject(0, manifests.StageWorkloads, "new"))}
	c.pass(func(Facts, Plan) {})
	if c.world.objects[free.Key] != nil || c.world.objects[later.Key] == nil || c.world.objects[db.Key] == nil {
		t.Errorf("got %v; want later and db alone", sortedKeys(c.world.objects))
	}
}

// largeGraph returns facts about 2,000 objects that depend on each other. Each depends on two objects.
func largeGraph(inSync bool) Facts {
	c := &component{world: newWorld(), inventory: Inventory{}}
	c.desired = append(c.desired, desiredObject(0, manifests.StageWorkloads, "root"))
	for i := range 1999 {
		c.desired = append(c.desired, depending(fmt.Sprint(i), c.desired[i], c.desired[i/2]))
	}
	if inSync {
		for _, o := range c.desired {
			c.applied(o)
		}
	}
	return Facts{
		Owner: us, Names: Names{All: true}, Defaults: Policies{
			Update:   metav1alpha1.UpdateSSAOverride,
			Adoption: metav1alpha1.AdoptIfUnowned,
		},
		Desired: c.desired, Inventory: c.inventory,
	}.seen(c.world.watched)
}

func BenchmarkForApplyOfAGraph(b *testing.B) {
	for name, inSync := range map[string]bool{"new": false, "in sync": true} {
		b.Run(name, func(b *testing.B) {
			f := largeGraph(inSync)
			for b.Loop() {
				if p := ForApply(f); len(p.Waiting)+p.Ready < 1999 {
					b.Fatalf("the plan counts %d objects, want all", len(p.Waiting)+p.Ready)
				}
			}
		})
	}
}

// BenchmarkForApplyOfALargeGroup plans for 1,900 new objects of which half depends on a group of 100 objects.
func BenchmarkForApplyOfALargeGroup(b *testing.B) {
	c := &component{world: newWorld(), inventory: Inventory{}}
	for i := range 950 {
		o := desiredObject(0, manifests.StageWorkloads, fmt.Sprint("base-", i))
		if i < 100 {
			o.Settings.Graph = &manifests.GraphSettings{Group: "g"}
		}
		c.desired = append(c.desired, o)
		c.applied(o)
	}
	for i := range 950 {
		o := depending(fmt.Sprint(i), c.desired[:100]...)
		o.Settings.Graph.DependsOn, o.Settings.Graph.List = []manifests.Dependency{{Group: "g"}}, "@g"
		c.desired = append(c.desired, o)
	}
	f := Facts{
		Owner: us, Names: Names{All: true}, Defaults: Policies{
			Update:   metav1alpha1.UpdateSSAOverride,
			Adoption: metav1alpha1.AdoptIfUnowned,
		},
		Desired: c.desired, Inventory: c.inventory,
	}.seen(c.world.watched)
	for b.Loop() {
		if p := ForApply(f); len(p.Actions) != 950 {
			b.Fatalf("the plan has %d actions, want 950", len(p.Actions))
		}
	}
}

func BenchmarkForDeleteOfAGraph(b *testing.B) {
	f := largeGraph(true)
	f.Desired = nil
	for b.Loop() {
		if p := ForDelete(f); len(p.Actions) != 1 {
			b.Fatalf("the plan deletes %d objects at first, want 1", len(p.Actions))
		}
	}
}

// A namespace is deleted when no object with dependencies exists, although their lists do not contain the namespace.
func TestNamespacesAreDeletedAfterTheGraph(t *testing.T) {
	c := &component{world: newWorld(), deleting: true}
	base := desiredObject(0, manifests.StageWorkloads, "base")
	home, web := desiredObject(0, manifests.StageNamespaces, "shop"), depending("web", base)
	for _, o := range []manifests.Object{home, base, web} {
		c.applied(o)
	}
	unrelated := depending("unrelated")
	unrelated.Settings.Graph = &manifests.GraphSettings{
		DependsOn: []manifests.Dependency{{Group: "none", Optional: true}},
		List:      "@none?",
	}
	c.applied(unrelated)
	c.world.held[unrelated.Key] = true
	c.pass(func(Facts, Plan) {})
	if c.world.objects[home.Key] == nil || c.world.objects[base.Key] != nil {
		t.Error("the namespace is deleted before an object with dependencies, or another object waits for it")
	}
	c.world.passTime()
	if p := c.pass(func(Facts, Plan) {}); !p.Done() || len(c.inventory) > 0 {
		t.Errorf("got %s, left %v", waits(p), c.inventory)
	}
}
