package metrics

import (
	"slices"
	"sync"
)

// exports are what the controllers of a process export at the moment. While a process replaces a reconciler, two
// controllers of that reconciler export something.
type exports[E any] struct {
	mu  sync.Mutex
	all []*E
}

// add begins an export, until the returned function is called.
func (x *exports[E]) add(e *E) (remove func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, e)
	return func() { x.remove(e) }
}

func (x *exports[E]) remove(e *E) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = slices.DeleteFunc(x.all, func(other *E) bool { return other == e })
}

// list returns the current exports.
func (x *exports[E]) list() []*E {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.all)
}
