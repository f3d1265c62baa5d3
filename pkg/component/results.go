package component

import (
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// results collects what a generator tells about a rendering.
type results struct {
	mu   sync.Mutex
	told []generator.Result
}

func (r *results) add(result generator.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, result)
}

// all returns the results; ok is false for a rendering without a call of the generator.
func (r *results) all() (told []generator.Result, ok bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told), true
}
