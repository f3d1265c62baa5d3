package metrics

import "sync"

// otherNames is the value of a label for all names after the first ones.
const otherNames = "<other>"

// names limits the number of values of a label. The first names of a reconciler are values of their own.
type names struct {
	limit int

	mu    sync.Mutex
	known map[string]map[string]bool
}

// of returns the value of the label for a name.
func (n *names) of(reconciler, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]map[string]bool{}
	}
	if n.known[reconciler] == nil {
		n.known[reconciler] = map[string]bool{}
	}
	known := n.known[reconciler]
	if !known[name] && len(known) >= n.limit {
		return otherNames
	}
	known[name] = true
	return name
}
