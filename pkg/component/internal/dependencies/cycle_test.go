package dependencies

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		name       string
		components []string
		// of is the component that is asked, and want its cycle.
		of, want string
	}{
		{"no edges", split("web"), "web", ""},
		{"a chain", []string{"ingress ->web", "web ->db", "db"}, "web", ""},
		{"a diamond", []string{"a ->b ->c", "b ->d", "c ->d", "d"}, "a", ""},
		{"itself", []string{"web ->web"}, "web", "web DependsOn"},
		{"two", []string{"web ->db", "db ->web"}, "db", "db DependsOn, web DependsOn"},
		{
			"the shortest of two", []string{"a ->b ->d", "b ->c", "c ->a", "d ->a"}, "a", "a DependsOn, d DependsOn",
		},
		{"a component that waits for a cycle", []string{"web ->a", "a ->b", "b ->a"}, "web", ""},
		{"an edge that does not block a deletion", []string{"web ?>db", "db ?>web"}, "web", "web DependsOn, db DependsOn"},
		{"exports", []string{"web ~>db", "db ~>web"}, "web", "web Exports, db Exports"},
		{"an export and a dependency", []string{"web ->db", "db ~>web"}, "web", "web DependsOn, db Exports"},
		{
			"other namespaces with consent",
			[]string{"web ->infra/db @infra", "infra/db ->shop/web @shop"},
			"web",
			"web DependsOn, infra/db DependsOn",
		},
		{"other namespaces, without the consent of one", []string{"web ->infra/db", "infra/db ->shop/web @shop"}, "web", ""},
		{"a component that does not exist", []string{"web ->db"}, "web", ""},

		{"a child that depends on its parent", []string{"apps +web", "web ->apps"}, "web", "web DependsOn, apps Contains"},
		{
			"a grandchild",
			[]string{"apps +team", "team +web", "web ->apps"},
			"web",
			"web DependsOn, apps Contains, team Contains",
		},
		{"a child that depends on a sibling", []string{"apps +web +db", "web ->db", "db"}, "web", ""},
		{
			"a child that depends on a component that depends on the parent",
			[]string{"apps +web", "web ->x", "x ->apps"},
			"web", "web DependsOn, x DependsOn, apps Contains",
		},
		{"a child that reads an export of its parent", []string{"apps +web", "web ~>apps"}, "web", ""},
		{
			"a parent that reads an export of its child",
			[]string{"apps +web ~>web", "web"},
			"apps",
			"apps Exports, web IsContained",
		},
		{
			"a parent that depends on its child",
			[]string{"apps +web ->web", "web"},
			"apps",
			"apps DependsOn, web IsContained",
		},
		{
			"a child that depends on a component that depends on the child",
			[]string{"apps +web", "web", "x ->web"},
			"web", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.components...)
			var texts []string
			for _, link := range f.Cycle(named(c.of)) {
				texts = append(texts, fmt.Sprintf("%s %s", textOf(link.Name), link.Kind))
			}
			if got := strings.Join(texts, ", "); got != c.want {
				t.Errorf("the cycle is %q, not %q", got, c.want)
			}
			f.enter(c.of)
			states := f.Follow(named(c.of), f.node(c.of).UID).States
			isInCycle := slices.ContainsFunc(states, func(s State) bool { return s.Cause == InCycle })
			if isInCycle != (c.want != "") {
				t.Errorf("the states are %+v", states)
			}
		})
	}
}

// A component that stalls because of a cycle is started when another component opens the cycle.
func TestAnOpenedCycleStartsItsMembers(t *testing.T) {
	f := newFixture(t, "a ->b", "b ->c", "c ready ->a", "d ->a")
	expect(t, "a waits for", f.waitFor("a"), []string{"b InCycle"})
	expect(t, "b waits for", f.waitFor("b"), []string{"c InCycle"})
	expect(t, "d waits for", f.waitFor("d"), []string{"a NotReady"})
	f.put("c ready")
	f.expectWoken("a", "b")
	expect(t, "a waits for", f.waitFor("a"), []string{"b NotReady"})
	expect(t, "b waits for", f.waitFor("b"), []string{"c Ready"})
	f.put("c ready ->a")
	f.expectWoken("a", "b")
	f.Remove(named("c"), "c")
	f.expectWoken("a", "b")
	expect(t, "b waits for", f.waitFor("b"), []string{"c Absent"})
}
