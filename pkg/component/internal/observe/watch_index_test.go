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

// crowd is an Observer of namespaces, whose watches the test feeds. It notes who is woken, and whose watches end.
type crowd struct {
	*Observer
	woken, ended []string
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

// retain makes an owner use namespaces.
func (c *crowd) retain(owner string, reader Reader, namespaces ...string) {
	places := map[WatchedResource]string{}
	for _, namespace := range namespaces {
		places[WatchedResource{configMaps, namespace}] = "v1"
	}
	c.Watch(owner, reader, places, func() { c.woken = append(c.woken, owner) })
}

func take(list *[]string) string {
	slices.Sort(*list)
	text := strings.Join(*list, ", ")
	*list = nil
	return text
}

func TestTwoWhoSeeAnObject(t *testing.T) {
	newPair := func(t *testing.T) (c *crowd, ours, theirs *dependentWatch) {
		t.Helper()
		c = newCrowd(t)
		ours, theirs = c.open(alice, "shop"), c.open(bob, "shop")
		c.retain("us", alice, "shop")
		c.retain("them", bob, "shop")
		return c, ours, theirs
	}
	t.Run("an event wakes the owner once, by its own watch", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		must(t, theirs.Add(at("5", "us", "u1")))
		if got := take(&c.woken); got != "" {
			t.Errorf("woken by the watch of another: %q", got)
		}
		must(t, ours.Add(at("5", "us", "u1")))
		if got := take(&c.woken); got != "us" {
			t.Errorf("woken: %q", got)
		}
	})
	t.Run("each knows what its own watch has told", func(t *testing.T) {
		c, ours, _ := newPair(t)
		must(t, ours.Add(at("5", "us", "u1")))
		if mine, other := c.Live(alice, settings).Presence, c.Live(bob, settings).Presence; mine != plan.Present || other != plan.Absent {
			t.Errorf("got %s and %s", mine, other)
		}
	})
	t.Run("a write of ours is news to none of them", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		done := c.BeginWrite(settings)
		must(t, theirs.Add(at("6", "us", "u1")))
		done(answer("6"))
		must(t, ours.Add(at("6", "us", "u1")))
		if got := take(&c.woken); got != "" {
			t.Errorf("woken: %q", got)
		}
		if got := c.Live(bob, settings).ResourceVersion; got != "6" {
			t.Errorf("the other knows version %q", got)
		}
	})
	t.Run("a foreign write during ours wakes, whichever watch tells first", func(t *testing.T) {
		c, ours, theirs := newPair(t)
		done := c.BeginWrite(settings)
		must(t, theirs.Add(at("7", "us", "u1")))
		done(answer("6"))
		must(t, ours.Add(at("6", "us", "u1")))
		must(t, ours.Update(at("7", "us", "u1")))
		if got := take(&c.woken); got != "us" {
			t.Errorf("woken: %q", got)
		}
	})
	t.Run("a type is unknown to the one who may not see it alone", func(t *testing.T) {
		c, ours, _ := newPair(t)
		ours.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "no", definite: true})
		if mine, other := c.Live(alice, settings).Presence, c.Live(bob, settings).Presence; mine != plan.Unknown || other != plan.Absent {
			t.Errorf("got %s and %s", mine, other)
		}
		if len(c.Unwatched("us")) != 1 || len(c.Unwatched("them")) != 0 {
			t.Errorf("got %v and %v", c.Unwatched("us"), c.Unwatched("them"))
		}
	})
}

func TestWhoeverMovesLeavesItsWatches(t *testing.T) {
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
		{"all are used", func() { c.retain("us", alice, "shop", "store"); c.retain("them", bob, "shop", "store") }, ""},
		{"one leaves a namespace", func() { c.retain("us", alice, "shop") }, "alice store"},
		{"and becomes another", func() { c.retain("us", bob, "shop") }, "alice shop"},
		{"the other leaves what both used", func() { c.retain("them", bob, "store") }, ""},
		{"and goes", func() { c.Release("them") }, "bob store"},
		{"the last one goes", func() { c.Release("us") }, "bob shop"},
	} {
		step.do()
		if got := take(&c.ended); got != step.want {
			t.Errorf("%s: ended %q, want %q", step.name, got, step.want)
		}
	}
	if len(c.dependents.watches)+len(c.components)+len(c.definitions.unserved) > 0 {
		t.Errorf("left: %v, %v, %v", c.dependents.watches, c.components, c.definitions.unserved)
	}
}

func TestNamespacesAreSeenApart(t *testing.T) {
	c := newCrowd(t)
	shop, store := c.open(Reader{}, "shop"), c.open(Reader{}, "store")
	c.retain("us", Reader{}, "shop", "store")

	must(t, shop.Add(at("5", "us", "u1")))
	done := c.BeginWrite(settings)
	must(t, store.Replace(nil, "9"))
	done(answer("6"))
	if got := c.Live(Reader{}, settings); got.Presence != plan.Present || got.ResourceVersion != "6" {
		t.Errorf("a list of another namespace ended it: %s in version %q", got.Presence, got.ResourceVersion)
	}

	take(&c.woken)
	store.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "not there", definite: true})
	shop.listFailed(watchFailure{reason: plan.WaitUnwatched, message: "not here", definite: true})
	want := []Unwatched{{configMaps, "not here; other namespaces affected: 1"}}
	if got := c.Unwatched("us"); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if !c.Synced("us") {
		t.Error("what may not be watched holds up the rest")
	}
}
