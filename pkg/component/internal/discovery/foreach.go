package discovery

import (
	"errors"
	"slices"
	"sync"
)

// parallelLists is the maximum number of concurrent calls of ask in one call of ForEach.
const parallelLists = 8

// ForEach calls ask for each resource, with at most parallelLists concurrent calls. It returns the results in the order
// of the resources, and all errors joined.
func ForEach[T any](resources []Resource, ask func(Resource) ([]T, error)) ([]T, error) {
	answers, errs := make([][]T, len(resources)), make([]error, len(resources))
	slots := make(chan struct{}, parallelLists)
	var wg sync.WaitGroup
	for i, r := range resources {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			answers[i], errs[i] = ask(r)
		})
	}
	wg.Wait()
	return slices.Concat(answers...), errors.Join(errs...)
}
