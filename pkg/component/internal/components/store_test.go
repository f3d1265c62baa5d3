package components

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
)

func versioned(uid types.UID, version string) *gadget {
	return newGadget(func(g *gadget) { g.UID, g.ResourceVersion = uid, version })
}

func TestLastWriteIsKeptUntilCacheHasCaughtUp(t *testing.T) {
	type step func(*cluster, *InFlight)
	end := func(c *cluster, p *InFlight) { c.store.EndPass(c.t.Context(), app, p) }
	write := func(version string) step {
		return func(c *cluster, _ *InFlight) { c.store.keepWrite(versioned("u1", version)) }
	}
	event := func(uid types.UID, version string) step {
		return func(c *cluster, _ *InFlight) {
			c.cached = versioned(uid, version)
			c.store.DropWrite(c.cached)
		}
	}
	for _, c := range []struct {
		name   string
		steps  []step
		loaded string
		kept   bool
	}{
		{"while the cache is older", []step{write("20"), end}, "20", true},
		{"until the cache has the written version, after the pass", []step{write("20"), end, event("u1", "20")}, "20", false},
		{"until the cache has a newer version", []step{write("20"), end, event("u1", "30")}, "30", false},
		{
			"until the pass ends, because the pass compares with the written version",
			[]step{write("20"), event("u1", "20")},
			"20", true,
		},
		{
			"only until the pass ends, if the cache has the written version by then",
			[]step{write("20"), event("u1", "20"), end},
			"20", false,
		},
		{"not if another component has the name", []step{write("20"), end, event("u2", "5")}, "5", false},
		{"while only an earlier write has arrived", []step{write("20"), write("30"), end, event("u1", "20")}, "30", true},
		{"unless a later write was kept before", []step{write("30"), write("20"), end}, "30", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := newCluster(t)
			cluster.cached = versioned("u1", "10")
			pass := cluster.passes.Begin(app)
			for _, s := range c.steps {
				s(cluster, pass)
			}
			if got := cluster.load().ResourceVersion; got != c.loaded {
				t.Errorf("Load returned the resource version %s, want %s", got, c.loaded)
			}
			if kept := cluster.states.Of(app).lastWrite() != nil; kept != c.kept {
				t.Errorf("the last write of the component is still in memory: %t", kept)
			}
		})
	}
}

func TestLoadPrefersLastWriteOverSameVersionInCache(t *testing.T) {
	c := newCluster(t)
	c.cached = versioned("u1", "20")
	written := versioned("u1", "20")
	written.Annotations = map[string]string{"time": "12:00:00.123"}
	c.store.keepWrite(written)
	loaded := c.load()
	if loaded.Annotations["time"] != "12:00:00.123" {
		t.Errorf("Load returned the older version from the cache, with the annotations %v", loaded.Annotations)
	}
	loaded.Annotations["time"] = "changed"
	if c.load().Annotations["time"] == "changed" {
		t.Error("a change of the loaded component changed the last write")
	}
}

func TestLoadOfMissingComponent(t *testing.T) {
	c := newCluster(t)
	if _, err := c.store.Load(t.Context(), app); !apierrors.IsNotFound(err) {
		t.Errorf("Load of a missing component returned %v, want a NotFound error", err)
	}
	if _, err := c.store.Live(t.Context(), app); !apierrors.IsConflict(err) {
		t.Errorf("Live for a missing component returned %v, want a conflict", err)
	}
	if err := c.store.AddFinalizer(t.Context(), newGadget()); !apierrors.IsConflict(err) {
		t.Errorf("AddFinalizer for a missing component returned %v, want a conflict", err)
	}
}

func TestWritesAreBoundToThePass(t *testing.T) {
	const own = reconciler + "/finalizer"
	suspended := func(g *gadget) { g.Generation, g.Spec.Suspend = 2, true }
	for _, c := range []struct {
		name   string
		change func(*gadget)
		// toCompletion is set for a pass that runs to completion.
		toCompletion bool
		conflict     string
	}{
		{name: "and succeed if nothing changed", change: func(*gadget) {}},
		{name: "and succeed if metadata changed", change: func(g *gadget) { g.Labels = map[string]string{"a": "b"} }},
		{name: "and succeed if the author's status changed", change: func(g *gadget) { g.Status.Port = 80 }},
		{
			name: "and fail if the component was recreated", change: func(g *gadget) { g.UID = "u2" },
			conflict: "created again",
		},
		{
			name:   "and fail if the component is being deleted",
			change: func(g *gadget) { g.DeletionTimestamp = new(metav1.Now()) }, conflict: "being deleted",
		},
		{name: "and fail if the spec changed", change: func(g *gadget) { g.Generation = 2 }, conflict: "spec changed"},
		{
			name:   "and succeed if the spec changed in a pass that runs to completion",
			change: func(g *gadget) { g.Generation = 2 }, toCompletion: true,
		},
		{
			name:   "and fail if the component was suspended, even in a pass that runs to completion",
			change: suspended, toCompletion: true, conflict: "spec changed",
		},
		{
			name: "and fail if the finalizer was removed", change: func(g *gadget) { g.Finalizers = nil },
			conflict: "finalizer was removed",
		},
		{
			name:   "and fail if the inventory record changed",
			change: func(g *gadget) { g.Status.Inventory = []string{"another"} }, conflict: "record changed",
		},
		{
			name:   "and fail if another operator process stored a rendering",
			change: func(g *gadget) { g.Status.RenderedSet = "another" }, conflict: "stored a rendering",
		},
		{
			name:   "and fail if another operator process stored deletion phases",
			change: func(g *gadget) { g.Status.PhaseRecord = "another" }, conflict: "or deletion phases",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := newGadget(func(g *gadget) { g.Finalizers, g.Status.Inventory = []string{own}, []string{"line"} })
			newer := newGadget(func(g *gadget) { g.Finalizers, g.Status.Inventory = []string{own}, []string{"line"} })
			c.change(newer)
			cluster := newCluster(t)
			if c.toCompletion {
				cluster.states.Of(app).interruptions = maxInterruptions
			}
			cluster.passes.Begin(app).Loaded(obj)
			err := cluster.store.checkCurrent(obj, newer, RefOf(obj.GetStatus()))
			if c.conflict == "" && err == nil {
				return
			}
			if c.conflict == "" || !apierrors.IsConflict(err) || !strings.Contains(err.Error(), c.conflict) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWriteStatusKeepsTheAuthorsPart(t *testing.T) {
	c := newCluster(t, newGadget())
	obj := c.load()
	c.editStatus(func(g *gadget) {
		g.Status.Port = 80
		g.Status.Conditions = []metav1.Condition{{Type: "Allocated"}, {Type: metav1alpha1.ConditionReady, Reason: "Old"}}
	})
	obj.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionReady, Reason: "New"}}
	obj.Labels = map[string]string{"set-by": "a hook"}
	if err := c.store.WriteStatus(t.Context(), obj, RefOf(obj.GetStatus())); err != nil {
		t.Fatal(err)
	}
	stored := c.stored()
	found := []string{}
	for _, condition := range stored.Status.Conditions {
		found = append(found, condition.Type+condition.Reason)
	}
	if stored.Status.Port != 80 || !slices.Equal(found, []string{"ReadyNew", "Allocated"}) || len(stored.Labels) > 0 {
		t.Errorf("the stored component has the wrong status %+v or the labels %v", stored.Status, stored.Labels)
	}
	if obj.ResourceVersion != stored.ResourceVersion || !slices.Equal(c.written, []client.ObjectKey{app}) {
		t.Errorf("the component in memory has the resource version %s, and StatusWritten was called for %v",
			obj.ResourceVersion, c.written)
	}
	if got := c.store.Persisted(obj, nil); got == nil || len(got.Conditions) != 2 {
		t.Errorf("Persisted returned the wrong status %+v", got)
	}
}

func TestPersistedIsTheLoadedStatusBeforeTheFirstWrite(t *testing.T) {
	c := newCluster(t, newGadget())
	loaded := &metav1alpha1.Status{Revision: 7}
	if got := c.store.Persisted(c.load(), loaded); got != loaded {
		t.Errorf("got %+v", got)
	}
}

func TestWritesAreRetriedAfterConflicts(t *testing.T) {
	for name, test := range map[string]struct {
		conflicts, writes int
		fails             bool
	}{
		"until a write succeeds":    {conflicts: 3, writes: 4},
		"a limited number of times": {conflicts: 100, writes: maxRetries + 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, newGadget())
				left := test.conflicts
				c.beforeStatus = func() {
					if left--; left >= 0 {
						c.editStatus(func(g *gadget) { g.Status.Port++ })
					}
				}
				obj := c.load()
				obj.Status.Revision = 1
				err := c.store.WriteStatus(t.Context(), obj, InventoryRef{})
				if apierrors.IsConflict(err) != test.fails || c.statuses != test.writes {
					t.Errorf("the status was written %d times, with the error %v", c.statuses, err)
				}
			})
		})
	}
}

// Two operator processes of the same name may store different renderings of the same inputs. The status must name the
// record of the process that wrote the status first.
func TestOfTwoOperatorsOneNamesItsRendering(t *testing.T) {
	for name, test := range map[string]struct {
		// before is what the status named when the pass began. meanwhile is the change that another client makes right before
		// the pass names its rendering.
		before    string
		meanwhile func(*gadget)
		conflict  bool
		want      string
	}{
		"nobody else writes":            {"first", nil, false, "ours"},
		"the author writes its status":  {"first", func(g *gadget) { g.Status.Port++ }, false, "ours"},
		"the other names a later one":   {"first", func(g *gadget) { g.Status.RenderedSet = "theirs" }, true, "theirs"},
		"the other names the first one": {"", func(g *gadget) { g.Status.RenderedSet = "theirs" }, true, "theirs"},
		"the other needs none any more": {"first", func(g *gadget) { g.Status.RenderedSet = "" }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, newGadget(func(g *gadget) { g.Status.RenderedSet = test.before }))
			obj := c.load()
			c.passes.Begin(app).Loaded(obj)
			c.beforeStatus = func() {
				if test.meanwhile != nil && c.statuses == 0 {
					c.editStatus(test.meanwhile)
				}
			}
			recorded := RefOf(obj.GetStatus())
			obj.Status.RenderedSet = "ours"
			err := c.store.WriteStatus(t.Context(), obj, recorded)
			if passerror.Interrupted(err) != test.conflict || (err == nil) == test.conflict {
				t.Errorf("the write of the status returned %v, want a conflict: %t", err, test.conflict)
			}
			if got := c.stored().Status.RenderedSet; got != test.want {
				t.Errorf("the status names the rendering %q, want %q", got, test.want)
			}
		})
	}
}

func TestWritesOfOnePassMayNameSeveralRenderings(t *testing.T) {
	c := newCluster(t, newGadget(func(g *gadget) { g.Status.RenderedSet = "first" }))
	obj := c.load()
	c.passes.Begin(app).Loaded(obj)
	// The status in memory names no rendering any more, and the stored status still does.
	obj.Status.RenderedSet = ""
	if err := c.store.AddFinalizer(t.Context(), obj); err != nil {
		t.Errorf("AddFinalizer returned %v", err)
	}
	if err := c.store.Confirm(t.Context(), obj, RefOf(obj.GetStatus())); err != nil {
		t.Errorf("Confirm returned %v", err)
	}
	for _, named := range []string{"", "second", "third"} {
		obj.Status.RenderedSet = named
		c.beforeStatus = func() {
			if c.statuses%2 == 0 {
				c.editStatus(func(g *gadget) { g.Status.Port++ })
			}
		}
		if err := c.store.WriteStatus(t.Context(), obj, RefOf(obj.GetStatus())); err != nil {
			t.Errorf("the write of a status that names %q returned %v", named, err)
		}
	}
}

func TestFinalizersAreAddedAndRemoved(t *testing.T) {
	c := newCluster(t, newGadget(func(g *gadget) { g.Finalizers = []string{"other"} }))
	obj := c.load()
	conflicts := 1
	c.beforePatch = func() {
		if conflicts--; conflicts >= 0 {
			c.edit(func(g *gadget) { g.Labels = map[string]string{"a": "b"} })
		}
	}
	if err := c.store.AddFinalizer(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	want := []string{"other", Finalizer(reconciler)}
	stored := c.stored()
	if !slices.Equal(stored.Finalizers, want) || !slices.Equal(obj.Finalizers, want) || stored.Labels["a"] != "b" {
		t.Errorf("the stored component has the finalizers %v, and the component in memory has %v", stored.Finalizers,
			obj.Finalizers)
	}
	patches := 0
	c.beforePatch = func() { patches++ }
	if err := c.store.AddFinalizer(t.Context(), obj); err != nil || patches > 0 {
		t.Errorf("the second call of AddFinalizer made %d patches, with the error %v; want no patch", patches, err)
	}
	if err := c.store.RemoveFinalizer(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	if got := c.stored().Finalizers; !slices.Equal(got, []string{"other"}) {
		t.Errorf("after RemoveFinalizer the component has the finalizers %v", got)
	}
}

func TestAnnounceRecord(t *testing.T) {
	named := metav1alpha1.InventoryRecord{Namespace: "shop", Name: "inventory-a", Parts: 1}
	for name, test := range map[string]struct {
		edit      func(*gadget)
		finalizer bool
		statuses  int
	}{
		"adds the finalizer and an empty record": {edit: func(*gadget) {}, finalizer: true, statuses: 1},
		"writes no status if the record is in Secrets": {
			edit: func(g *gadget) { g.Status.InventoryRecord = &named }, finalizer: true,
		},
		"writes no status if the record was announced before": {
			edit: func(g *gadget) { g.Status.InventoryRecord = &metav1alpha1.InventoryRecord{} }, finalizer: true,
		},
		"adds no finalizer in a deletion": {
			edit: func(g *gadget) { g.DeletionTimestamp, g.Finalizers = new(metav1.Now()), []string{"other"} }, statuses: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, newGadget(test.edit))
			obj := c.load()
			if err := c.store.AnnounceRecord(t.Context(), obj, RefOf(obj.GetStatus())); err != nil {
				t.Fatal(err)
			}
			stored := c.stored()
			if stored.Status.InventoryRecord == nil || c.statuses != test.statuses ||
				slices.Contains(stored.Finalizers, Finalizer(reconciler)) != test.finalizer {
				t.Errorf("the status was written %d times, and the stored component is %+v", c.statuses, stored)
			}
		})
	}
}

func TestConfirmReadsTheAPIServer(t *testing.T) {
	c := newCluster(t, newGadget())
	obj := c.load()
	c.cached = c.load()
	if err := c.store.Confirm(t.Context(), obj, InventoryRef{}); err != nil {
		t.Fatal(err)
	}
	c.edit(func(g *gadget) { g.Generation = 2 })
	if err := c.store.Confirm(t.Context(), obj, InventoryRef{}); !passerror.Interrupted(err) {
		t.Errorf("Confirm after a change of the spec returned %v, want an interruption", err)
	}
	if err := c.server.Delete(t.Context(), c.stored()); err != nil {
		t.Fatal(err)
	}
	if err := c.store.Confirm(t.Context(), obj, InventoryRef{}); !apierrors.IsConflict(err) {
		t.Errorf("Confirm after a deletion returned %v, want a conflict", err)
	}
}

func TestConflictInterruptsThePass(t *testing.T) {
	err := newCluster(t).store.Conflict(app, "it changed")
	if !passerror.Interrupted(err) || !strings.Contains(err.Error(), "it changed") {
		t.Errorf("got %v", err)
	}
}

func TestComponentsThatDoNotCopyToTheirOwnType(t *testing.T) {
	if _, err := copyOf(&embedding{}); err == nil {
		t.Error("a DeepCopyObject that returns another type was accepted")
	}
	c := newCluster(t)
	c.store.keepWrite(&embedding{gadget: *newGadget()})
	if len(c.states.known) > 0 {
		t.Error("a DeepCopyObject that returns another type was stored as the last write")
	}
	c.store.options.New = func() (Object, error) { return nil, errors.New("no pointer to a struct") }
	for _, read := range []func() (client.Object, error){
		func() (client.Object, error) { return c.store.Load(t.Context(), app) },
		func() (client.Object, error) { return c.store.Live(t.Context(), app) },
	} {
		if _, err := read(); err == nil {
			t.Error("Load or Live returned no error, although the function New failed")
		}
	}
}
