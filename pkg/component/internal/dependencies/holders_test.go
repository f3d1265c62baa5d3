package dependencies

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name string
		hold hold
		want bool
	}{
		{"a holder that is not being deleted", hold{}, true},
		{"a holder that is being deleted", hold{ends: true}, true},
		{"a holder of a set whose components all end", hold{ends: true, isCut: true}, false},

		{"the namespace goes, and the holder elsewhere stays", hold{namespaceGoes: true, isElsewhere: true}, false},
		{"the namespace goes with all dependents", hold{namespaceGoes: true, ends: true, inNamespace: true}, false},
		{
			"the namespace goes, dependents are elsewhere, the holder is being deleted",
			hold{namespaceGoes: true, isElsewhere: true, ends: true},
			true,
		},
		{
			"the namespace goes, dependents are elsewhere, and the deletion of the holder in it was not delivered yet",
			hold{namespaceGoes: true, isElsewhere: true, inNamespace: true},
			true,
		},
		{
			"the namespace goes, dependents are elsewhere, all of a cycle end",
			hold{namespaceGoes: true, isElsewhere: true, ends: true, isCut: true},
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.hold.blocks(); got != c.want {
				t.Errorf("blocks returned %t", got)
			}
		})
	}
}

func TestHolders(t *testing.T) {
	for _, c := range []struct {
		name       string
		components []string
		of         string
		// want are the holders. Those that do not end have an exclamation mark.
		want []string
	}{
		{"nobody", []string{"db has deleting"}, "db", nil},
		{"a component that is not being deleted", []string{"db has deleting", "web has ->db"}, "db", []string{"web!"}},
		{"a component that is being deleted", []string{"db has deleting", "web has deleting ->db"}, "db", []string{"web"}},
		{
			"several, sorted",
			[]string{"db has deleting", "web has ->db", "api has deleting ->db", "cron has ->db"},
			"db",
			[]string{"api", "cron!", "web!"},
		},
		{"a component without dependents", []string{"db has deleting", "web ->db"}, "db", nil},
		{"an edge that ignores the deletion", []string{"db has deleting", "web has ?>db"}, "db", nil},
		{"an export that ignores the deletion", []string{"db has deleting", "web has ~>db"}, "db", nil},
		{"an export that blocks the deletion", []string{"db has deleting", "web has !>db"}, "db", []string{"web!"}},
		{"an export and a dependency that blocks", []string{"db has deleting", "web has ~>db ->db"}, "db", []string{"web!"}},
		{"itself", []string{"db has deleting ->db"}, "db", nil},
		{
			"a component of another namespace",
			[]string{"db has deleting @blog", "blog/web has ->shop/db"},
			"db",
			[]string{"blog/web!"},
		},
		{"another namespace, without consent", []string{"db has deleting", "blog/web has ->shop/db"}, "db", nil},
		{"a deletion that began before a restart", []string{"db has deleting began", "web has ->db"}, "db", nil},

		{"a cycle that is being deleted", []string{"a has deleting ->b", "b has deleting ->a"}, "a", nil},
		{
			"a cycle of three, of which one is not being deleted",
			[]string{"a has deleting ->b", "b has deleting ->c", "c has ->a"},
			"a",
			[]string{"c!"},
		},
		{
			"the same, for a member whose holder is being deleted",
			[]string{"a has deleting ->b", "b has deleting ->c", "c has ->a"},
			"b",
			[]string{"a"},
		},
		{
			"a cycle that is being deleted, and an outsider",
			[]string{"a has deleting ->b", "b has deleting ->a", "web has deleting ->a"},
			"a",
			[]string{"web"},
		},
		{
			"the other member of that cycle, which the outsider does not hold",
			[]string{"a has deleting ->b", "b has deleting ->a", "web has deleting ->a"},
			"b", nil,
		},
		{
			"a cycle of edges, one of which ignores the deletion",
			[]string{"a has deleting ->b", "b has deleting ?>a"},
			"b",
			[]string{"a"},
		},
		{
			"a cycle of edges, of which one component has no dependents",
			[]string{"a has deleting ->b", "b deleting ->a"},
			"b",
			[]string{"a"},
		},

		{"a child that depends on its parent", []string{"apps has deleting +web", "web has ->apps"}, "apps", nil},
		{
			"a grandchild that depends on its grandparent",
			[]string{"apps has deleting +team", "team has +web", "web has ->apps"},
			"apps", nil,
		},
		{
			"a parent that depends on its child, and is being deleted",
			[]string{"apps has deleting +web ->web", "web has deleting"},
			"web", nil,
		},
		{
			"a parent that depends on its child, and stays",
			[]string{"apps has +web ->web", "web has deleting"},
			"web",
			[]string{"apps!"},
		},
		{
			"a child of another component that is being deleted",
			[]string{"db has deleting", "apps has deleting +web", "web has ->db"},
			"db",
			[]string{"web"},
		},
		{
			"a component that the child of the deleted one needs, and that depends on the deleted one",
			[]string{"apps has deleting +web", "web has ->x", "x has deleting ->apps"},
			"apps", nil,
		},
		{
			"the same, for that component",
			[]string{"apps has deleting +web", "web has ->x", "x has deleting ->apps"},
			"x", nil,
		},
		{
			"the same, if the component is not being deleted",
			[]string{"apps has deleting +web", "web has ->x", "x has ->apps"},
			"apps",
			[]string{"x!"},
		},
		{"children that contain each other", []string{"a has deleting +b", "b has +a ->a"}, "a", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.components...)
			expect(t, "the holders are", f.holdersOf(c.of, false), c.want)
		})
	}
}

func TestHoldersInANamespaceThatGoes(t *testing.T) {
	f := newFixture(t, "db has deleting @blog", "remote has deleting elsewhere @blog", "web has ->db ->remote",
		"blog/stays has ->shop/db ->shop/remote", "blog/ends has deleting ->shop/db ->shop/remote")
	expect(t, "db has the holders", f.holdersOf("db", true), nil)
	expect(t, "remote has the holders", f.holdersOf("remote", true), []string{"blog/ends", "web!"})
	f.takeWoken()
	f.put("web has deleting ->db ->remote")
	f.expectWoken("remote")
	f.Remove(named("web"), "web")
	f.expectWoken()
	f.Remove(named("blog/ends"), "blog/ends")
	f.expectWoken("remote")
	expect(t, "remote has the holders", f.holdersOf("remote", true), nil)
}

// A blocked deletion ends in each way in which a hold can end.
func TestABlockedDeletionIsStarted(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(f *fixture)
	}{
		{"the holder was deleted", func(f *fixture) { f.Remove(named("web"), "web") }},
		{"the holder has no dependents any more", func(f *fixture) { f.put("web ->db") }},
		{"the holder drops its edge", func(f *fixture) { f.put("web has") }},
		{"the edge ignores the deletion", func(f *fixture) { f.put("web has ?>db") }},
		{"a pass over the holder finds no dependents", func(f *fixture) {
			node := f.node("web")
			node.Holds, node.Version = false, "99"
			f.Enter(named("web"), node)
		}},
		{"the holder was created again", func(f *fixture) {
			f.Remove(named("web"), "web")
			f.put("web ->db")
		}},
		{"the holder becomes a child", func(f *fixture) {
			f.SetChildren(named("db"), "db", []types.NamespacedName{named("web")})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, "db has deleting", "web has ->db")
			expect(t, "db has the holders", f.holdersOf("db", false), []string{"web!"})
			f.expectWoken()
			c.end(f)
			f.expectWoken("db")
			expect(t, "db has the holders", f.holdersOf("db", false), nil)
		})
	}
}

func TestADeletionThatBeganGoesOn(t *testing.T) {
	f := newFixture(t, "db has deleting", "web has")
	expect(t, "db has the holders", f.holdersOf("db", false), nil)
	f.put("web has ->db")
	expect(t, "db has the holders", f.holdersOf("db", false), nil)
	f.Remove(named("db"), "db")
	name, node, _ := parse(t, "db has deleting")
	node.UID, node.Version = "another", "99"
	f.Put(name, node)
	f.Enter(name, node)
	holders, _ := f.Holders(name, "another", false)
	if len(holders) != 1 {
		t.Errorf("the component of the same name has the holders %v", holders)
	}
}

// A component with many holders is started when it can go on, and when none of the named holders needs a person.
func TestManyHolders(t *testing.T) {
	f := newFixture(t, "db has deleting", "a has ->db", "b has ->db", "c has ->db", "d has ->db", "e has ->db")
	expect(t, "db has the holders", f.holdersOf("db", false), []string{"a!", "b!", "c!", "d!", "e!"})
	f.Remove(named("e"), "e")
	f.put("a has deleting ->db")
	f.put("b has deleting ->db")
	f.expectWoken()
	f.put("c has deleting ->db")
	f.expectWoken("db")
	f.put("d has deleting ->db")
	f.expectWoken("db")
	for _, name := range []string{"b", "a", "d"} {
		f.Remove(named(name), types.UID(name))
	}
	f.expectWoken()
	f.Remove(named("c"), "c")
	f.expectWoken("db")
}
