// Package shop has two files that depend on each other.
package shop

import "sync"

// Options are API: exported, with exported fields only, and without methods.
type Options struct {
	Log  func(string)
	A, B int
	C, D int
	E, F int
}

// Shop has three methods of its own, one of which is generated, and two that it embeds.
type Shop[T any] struct {
	stock
	mutex sync.Mutex
	items []T
}

// Sell calls a function of another file.
func (s *Shop[T]) Sell(item T) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.items = append(s.items, item)
	return price(s.count()) + local()
}

func (s *Shop[T]) size() int { return len(s.items) }

func local() int { return 1 }
