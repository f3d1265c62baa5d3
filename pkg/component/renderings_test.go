package component

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

// kept returns which of the components have a rendering, without touching any.
func (s *renderings) kept(names ...string) []string {
	var found []string
	for _, name := range names {
		if _, ok := s.byName[named(name)]; ok {
			found = append(found, name)
		}
	}
	return found
}

func TestRenderings(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	put := func(name string, size int) func(*renderings) {
		return func(s *renderings) { s.put(named(name), rendering{digest: name, size: size}) }
	}
	get := func(name string) func(*renderings) { return func(s *renderings) { s.get(named(name)) } }
	drop := func(name string) func(*renderings) { return func(s *renderings) { s.drop(named(name)) } }
	for _, c := range []struct {
		name  string
		steps []func(*renderings)
		want  []string
		size  int
	}{
		{"are all kept while there is room", []func(*renderings){put("a", 40), put("b", 40), put("c", 20)}, []string{"a", "b", "c"}, 100},
		{"make room for others, the oldest first", []func(*renderings){put("a", 40), put("b", 40), put("c", 40)}, []string{"b", "c"}, 80},
		{"stay where they were wanted lately", []func(*renderings){put("a", 40), put("b", 40), get("a"), put("c", 40)}, []string{"a", "c"}, 80},
		{"make room for a large one, as many as it takes", []func(*renderings){put("a", 30), put("b", 30), put("c", 30), put("d", 70)}, []string{"c", "d"}, 100},
		{"take the place of the one before", []func(*renderings){put("a", 90), put("a", 10), put("b", 90)}, []string{"a", "b"}, 100},
		{"are not kept where one alone is too large, nor is the one before", []func(*renderings){put("a", 10), put("b", 10), put("a", 101)}, []string{"b"}, 10},
		{"are dropped with their component", []func(*renderings){put("a", 40), put("b", 40), drop("a"), drop("c")}, []string{"b"}, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRenderings(100)
			for _, step := range c.steps {
				step(s)
			}
			if got := s.kept(names...); !slices.Equal(got, c.want) || s.size != c.size || s.recent.Len() != len(c.want) {
				t.Errorf("kept %v in %d bytes, %d entries; want %v in %d", got, s.size, s.recent.Len(), c.want, c.size)
			}
		})
	}
}

func TestRenderingsOfManyAtOnce(t *testing.T) {
	s := newRenderings(100)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				name := named(fmt.Sprint((worker + i) % 20))
				s.put(name, rendering{digest: name.Name, size: 1 + i%30})
				if r, found := s.get(name); found && r.digest != name.Name {
					t.Errorf("%s has the rendering of %s", name.Name, r.digest)
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
		size += entryOf(element).rendering.size
	}
	if size != s.size || size > 100 || len(s.byName) != s.recent.Len() {
		t.Errorf("%d bytes are counted, %d are there, in %d and %d entries", s.size, size, len(s.byName), s.recent.Len())
	}
}
