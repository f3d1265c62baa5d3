package observe

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

var (
	alice = Reader{Name: "alice"}
	bob   = Reader{Name: "bob"}
)

// crowd is an Observer that watches per namespace. It records the enqueued components and the stopped watches.
type crowd struct {
	*Observer
	enqueued, ended []string
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{Observer: newObserver(t)}
	c.dependents.perNamespace = true
	return c
}

// open adds a watch without users.
func (c *crowd) open(reader Reader, namespace string) *dependentWatch {
	stopped := func() { c.ended = append(c.ended, reader.Name+" "+namespace) }
	return addWatch(c.Observer, reader, WatchedResource{configMaps, namespace}, stopped)
}

// watch makes a component use the watches on namespaces.
func (c *crowd) watch(owner string, reader Reader, namespaces ...string) {
	places := map[WatchedResource]string{}
	for _, namespace := range namespaces {
		places[WatchedResource{configMaps, namespace}] = "v1"
	}
	c.Watch(owner, reader, places, func() { c.enqueued = append(c.enqueued, owner) })
}

func take(list *[]string) string {
	slices.Sort(*list)
	text := strings.Join(*list, ", ")
	*list = nil
	return text
}

func TestTwoReadersOfAnObject(t *testing.T) {
	newPair := func(t *testing.T) (c *crowd, ours, theirs *dependentWatch) {
		t.Helper()
		c = newCrowd(t)
		ours, theirs = c.open(alice, "shop"), c.open(bob, "shop")
		c.watch("us", alice, "shop")
		c.watch("them", bob, "shop")
		return c, ours, theirs
	}
	t.Run("an event enqueues the owner once, by the watch that the owner uses", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		must(t, theirs.Add(at("5", "us", "u1")))
		if got := take(&c.enqueued); got != "" {
			t.Errorf("the watch of another component enqueued %q", got)
		}
		must(t, ours.Add(at("5", "us", "u1")))
		if got := take(&c.enqueued); got != "us" {
			t.Errorf("the watch enqueued %q, want us", got)
		}
	})
	t.Run("a reader gets the facts of its own watch", func(t *testing.T) {
		c, ours, _ := newPair(t)
		must(t, ours.Add(at("5", "us", "u1")))
		if mine, other := c.Live(alice, settings).Presence, c.Live(bob, settings).Presence; mine != plan.Present ||
			other != plan.Absent {
			t.Errorf("the object has the presence %s for the reader alice and %s for bob, want Present and Absent", mine, other)
		}
	})
	t.Run("our write enqueues no owner through any watch", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		done := c.BeginWrite(settings)
		must(t, theirs.Add(at("6", "us", "u1")))
		done(answer("6"))
		must(t, ours.Add(at("6", "us", "u1")))
		if got := take(&c.enqueued); got != "" {
			t.Errorf("the event enqueued %q, want none", got)
		}
		if got := c.Live(bob, settings).ResourceVersion; got != "6" {
			t.Errorf("the reader bob has the version %q of the object, want 6", got)
		}
	})
	t.Run("a foreign write during our write enqueues the owner, whichever watch shows it first", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		done := c.BeginWrite(settings)
		must(t, theirs.Add(at("7", "us", "u1")))
		done(answer("6"))
		must(t, ours.Add(at("6", "us", "u1")))
		must(t, ours.Update(at("7", "us", "u1")))
		if got := take(&c.enqueued); got != "us" {
			t.Errorf("the event enqueued %q, want us", got)
		}
	})
	t.Run("a type is unknown only to the reader that may not watch it", func(t *testing.T) {
		c, ours, _ := newPair(t)
		ours.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "no", definite: true})
		if mine, other := c.Live(alice, settings).Presence, c.Live(bob, settings).Presence; mine != plan.Unknown ||
			other != plan.Absent {
			t.Errorf("the object has the presence %s for the reader alice and %s for bob, want Unknown and Absent", mine, other)
		}
		if len(c.Unwatched("us")) != 1 || len(c.Unwatched("them")) != 0 {
			t.Errorf("the unwatched types of the two components are %v and %v", c.Unwatched("us"), c.Unwatched("them"))
		}
	})
}

func TestAComponentThatMovesStopsItsWatches(t *testing.T) {
	c := newCrowd(t)
	for _, reader := range []Reader{alice, bob} {
		for _, namespace := range []string{"shop", "store"} {
			c.open(reader, namespace)
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"all watches are used", func() { c.watch("us", alice, "shop", "store"); c.watch("them", bob, "shop", "store") }, ""},
		{"a component leaves a namespace", func() { c.watch("us", alice, "shop") }, "alice store"},
		{"the component changes its reader", func() { c.watch("us", bob, "shop") }, "alice shop"},
		{"another component leaves a shared watch", func() { c.watch("them", bob, "store") }, ""},
		{"the other component is released", func() { c.Release("them") }, "bob store"},
		{"the last component is released", func() { c.Release("us") }, "bob shop"},
	} {
		step.do()
		if got := take(&c.ended); got != step.want {
			t.Errorf("%s: the watches %q ended, want %q", step.name, got, step.want)
		}
	}
	if len(c.dependents.watches)+len(c.components)+len(c.definitions.unserved) > 0 {
		t.Errorf("after all components stopped, these watches, components and unserved types remain: %v, %v, %v",
			c.dependents.watches, c.components, c.definitions.unserved)
	}
}

func TestNamespacesHaveSeparateWatches(t *testing.T) {
	c := newCrowd(t)
	shop, store := c.open(Reader{}, "shop"), c.open(Reader{}, "store")
	c.watch("us", Reader{}, "shop", "store")

	must(t, shop.Add(at("5", "us", "u1")))
	done := c.BeginWrite(settings)
	must(t, store.Replace(nil, "9"))
	done(answer("6"))
	if got := c.Live(Reader{}, settings); got.Presence != plan.Present || got.ResourceVersion != "6" {
		t.Errorf("a list of another namespace removed the object: %s in version %q", got.Presence, got.ResourceVersion)
	}

	take(&c.enqueued)
	store.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "not there", definite: true})
	shop.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "not here", definite: true})
	want := []Unwatched{{configMaps, "not here; other namespaces affected: 1"}}
	if got := c.Unwatched("us"); !slices.Equal(got, want) {
		t.Errorf("the unwatched types of the component are %v", got)
	}
	if !c.Synced("us") {
		t.Error("a refused watch keeps the component unsynced")
	}
}
