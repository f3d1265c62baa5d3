package component

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// residence is where components live: what was asked, or where each of them was taken to live without asking. The zero value knows neither.
type residence struct {
	mu       sync.Mutex
	cluster  string
	presumed map[types.NamespacedName]string
}

// asked returns the cluster, empty where nobody asked.
func (r *residence) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cluster
}

// answer notes the cluster that was asked for.
func (r *residence) answer(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = cluster
}

// presume notes where a component is taken to live, unless that was asked. Where something else was presumed before, it returns that, and notes
// nothing.
func (r *residence) presume(name types.NamespacedName, cluster string) (former string, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	presumed, ok := r.presumed[name]
	delete(r.presumed, name)
	if ok && presumed != cluster {
		return presumed, true
	}
	if cluster != r.cluster {
		if r.presumed == nil {
			r.presumed = map[types.NamespacedName]string{}
		}
		r.presumed[name] = cluster
	}
	return "", false
}

// presumption returns where a component is taken to live, if nobody asked before that.
func (r *residence) presumption(name types.NamespacedName) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	presumed, ok := r.presumed[name]
	return presumed, ok
}

// of returns where a component was last taken to live.
func (r *residence) of(name types.NamespacedName) string {
	if presumed, ok := r.presumption(name); ok {
		return presumed
	}
	return r.asked()
}

func (r *residence) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.presumed, name)
}
