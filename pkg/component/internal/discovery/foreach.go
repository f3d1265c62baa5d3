package discovery

import (
	"errors"
	"slices"
	"sync"
)

// parallelLists is the maximum number of concurrent calls of ask in one call of ForEach.
const parallelLists = 8

// ForEach calls ask for each type, with at most parallelLists concurrent calls. It returns the results in the order of
// the types, and all errors joined.
func ForEach[R, T any](types []R, ask func(R) ([]T, error)) ([]T, error) {
	answers, errs := make([][]T, len(types)), make([]error, len(types))
	slots := make(chan struct{}, parallelLists)
	var wg sync.WaitGroup
	for i, r := range types {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			answers[i], errs[i] = ask(r)
		})
	}
	wg.Wait()
	return slices.Concat(answers...), errors.Join(errs...)
}
