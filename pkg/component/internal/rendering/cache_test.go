package rendering

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// keptOf returns the components whose sets are in the cache. It does not change the order of use.
func (s *cache) keptOf(names ...string) []string {
	var found []string
	for _, name := range names {
		if _, ok := s.byName[named(name)]; ok {
			found = append(found, name)
		}
	}
	return found
}

func TestTheCacheEvictsTheLeastRecentlyUsedSets(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	put := func(name string, size int) func(*cache) {
		return func(s *cache) { s.put(named(name), Set{inputs: name, size: size}) }
	}
	get := func(name string) func(*cache) { return func(s *cache) { s.get(named(name)) } }
	drop := func(name string) func(*cache) { return func(s *cache) { s.drop(named(name)) } }
	for _, c := range []struct {
		name  string
		steps []func(*cache)
		want  []string
		size  int
	}{
		{
			"all sets are kept within the limit",
			[]func(*cache){put("a", 40), put("b", 40), put("c", 20)},
			[]string{"a", "b", "c"},
			100,
		},
		{
			"the oldest set is evicted first",
			[]func(*cache){put("a", 40), put("b", 40), put("c", 40)},
			[]string{"b", "c"},
			80,
		},
		{
			"a set that was used recently is kept",
			[]func(*cache){put("a", 40), put("b", 40), get("a"), put("c", 40)},
			[]string{"a", "c"},
			80,
		},
		{
			"a large set evicts as many others as needed",
			[]func(*cache){put("a", 30), put("b", 30), put("c", 30), put("d", 70)},
			[]string{"c", "d"},
			100,
		},
		{
			"a set replaces the previous set of its component",
			[]func(*cache){put("a", 90), put("a", 10), put("b", 90)},
			[]string{"a", "b"},
			100,
		},
		{
			"a set larger than the cache is not kept, and the previous set of its component is removed",
			[]func(*cache){put("a", 10), put("b", 10), put("a", 101)},
			[]string{"b"},
			10,
		},
		{
			"drop removes one set",
			[]func(*cache){put("a", 40), put("b", 40), drop("a"), drop("c")},
			[]string{"b"},
			40,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newCache(100)
			for _, step := range c.steps {
				step(s)
			}
			if got := s.keptOf(names...); !slices.Equal(got, c.want) || s.size != c.size || s.recent.Len() != len(c.want) {
				t.Errorf("the cache has the sets %v in %d bytes and %d entries, want %v in %d bytes", got, s.size, s.recent.Len(),
					c.want, c.size)
			}
		})
	}
}

func TestTheCacheIsSafeForConcurrentUse(t *testing.T) {
	s := newCache(100)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				name := named(fmt.Sprint((worker + i) % 20))
				s.put(name, Set{inputs: name.Name, size: 1 + i%30})
				if r, found := s.get(name); found && r.inputs != name.Name {
					t.Errorf("%s has the set of %s", name.Name, r.inputs)
				}
				if i%7 == 0 {
					s.drop(name)
				}
			}
		})
	}
	wg.Wait()
	size := 0
	for element := s.recent.Front(); element != nil; element = element.Next() {
		size += entryOf(element).set.size
	}
	if size != s.size || size > 100 || len(s.byName) != s.recent.Len() {
		t.Errorf("the size is %d, but the sets take %d; %d names, %d entries", s.size, size, len(s.byName), s.recent.Len())
	}
}
