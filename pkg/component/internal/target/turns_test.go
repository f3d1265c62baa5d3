package target

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// named returns the name of a component, from a text such as a/1.
func named(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestTurns(t *testing.T) {
	// A step is "take a/1", which must get a slot, "wait a/1", which must get none, "end a/1", the end of a pass, and
	// "release a/1". want are the names that get a slot later, in order. There are 3 slots, and 2 for each namespace.
	for _, c := range []struct {
		name  string
		steps string
		want  string
	}{
		{"a namespace has at most its share", "take a/1, take a/2, wait a/3, take b/1", ""},
		{"all namespaces have at most all slots", "take a/1, take a/2, take b/1, wait c/1", ""},
		{
			"a slot is kept for the name that waited",
			"take a/1, take a/2, wait a/3, end a/3, end a/1, take a/3, wait a/1", "a/3",
		},
		{"a name takes its slot several times", "take a/1, take a/1, take a/2, wait a/3", ""},
		{
			"a name waits once",
			"take a/1, take a/2, wait a/3, end a/3, wait a/3, end a/3, end a/1, end a/2", "a/3",
		},
		{
			"the namespace with the fewest slots is next",
			"take a/1, take a/2, take b/1, wait a/3, wait a/4, wait c/1, end b/1, end a/1", "c/1 a/3",
		},
		{
			"namespaces with equally many slots take turns",
			"take a/1, take b/1, take c/1, wait a/2, wait b/2, wait d/1, end c/1, end a/1", "d/1 a/2",
		},
		{
			"the name that has waited longest is next",
			"take a/1, take b/1, take c/1, wait e/1, wait d/1, end a/1, end b/1", "e/1 d/1",
		},
		{
			"a slot that a namespace may not have goes to another",
			"take a/1, take a/2, wait a/3, take b/1, wait b/2, end b/1", "b/2",
		},
		{
			"a pass that needs no slot loses a kept slot",
			"take a/1, take a/2, wait a/3, end a/3, end a/1, end a/3, take a/4", "a/3",
		},
		{
			"a pass that needs no slot leaves the line",
			"take a/1, take a/2, wait a/3, end a/3, end a/3, end a/1, take a/4", "",
		},
		{
			"a pass that got a slot while it ran keeps it",
			"take a/1, take a/2, wait a/3, end a/1, end a/3, take a/3, wait a/4", "a/3",
		},
		{
			"the end of a pass without a slot changes nothing",
			"end a/1, take a/1, end b/1, take a/2, wait a/3", "",
		},
		{"a release ends a wait", "take a/1, take a/2, wait a/3, release a/3, release a/1, take a/4", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var granted []string
			turns := NewTurns(3, 2, func(name types.NamespacedName) { granted = append(granted, name.String()) })
			for step := range strings.SplitSeq(c.steps, ", ") {
				verb, text, _ := strings.Cut(step, " ")
				name := named(text)
				switch verb {
				case "end":
					turns.EndPass(name)
				case "release":
					turns.Release(name)
				default:
					if got := turns.Take(name); got != (verb == "take") {
						t.Errorf("%s: Take returned %t", step, got)
					}
				}
			}
			if !slices.Equal(granted, strings.Fields(c.want)) {
				t.Errorf("slots went to %v, want %s", granted, c.want)
			}
		})
	}
}

func TestTurnsAreReturned(t *testing.T) {
	turns := NewTurns(2, 1, func(types.NamespacedName) {})
	names := []string{"a/1", "a/2", "b/1", "b/2", "c/1"}
	for range 3 {
		for _, text := range names {
			turns.Take(named(text))
			turns.EndPass(named(text))
		}
	}
	for _, text := range names {
		turns.EndPass(named(text))
	}
	if turns.used != 0 || len(turns.slots) != 0 || len(turns.waiting) != 0 || len(turns.turns) != 0 {
		t.Errorf("slots remain in use: %+v", turns)
	}
}

func TestNoTurns(t *testing.T) {
	var turns *Turns
	for range 100 {
		if !turns.Take(named("a/1")) {
			t.Fatal("a component waits although there is no limit")
		}
	}
	turns.EndPass(named("a/1"))
}
