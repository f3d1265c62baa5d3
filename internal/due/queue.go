package due

import (
	"container/heap"
	"time"
)

// Queue holds keys, each with the time at which it is due. The zero value is empty and ready to use. It is not safe for
// concurrent use.
type Queue[K comparable] struct {
	byTime byTime[K]
	of     map[K]*entry[K]
}

// entry is a key in the queue.
type entry[K comparable] struct {
	key K
	at  time.Time
	// index is the position in byTime.
	index int
}

// Set sets the time of a key.
func (q *Queue[K]) Set(key K, at time.Time) {
	if known := q.of[key]; known != nil {
		known.at = at
		heap.Fix(&q.byTime, known.index)
		return
	}
	if q.of == nil {
		q.of = map[K]*entry[K]{}
	}
	q.of[key] = &entry[K]{key: key, at: at}
	heap.Push(&q.byTime, q.of[key])
}

// Remove removes a key, if it is in the queue.
func (q *Queue[K]) Remove(key K) {
	if known := q.of[key]; known != nil {
		delete(q.of, key)
		heap.Remove(&q.byTime, known.index)
	}
}

// At returns the time of a key. If the key is not in the queue, found is false.
func (q *Queue[K]) At(key K) (at time.Time, found bool) {
	if known := q.of[key]; known != nil {
		return known.at, true
	}
	return at, false
}

// Pop removes and returns the key that is due first. If none is due, found is false.
func (q *Queue[K]) Pop(now time.Time) (key K, found bool) {
	if at, known := q.First(); !known || now.Before(at) {
		return key, false
	}
	key = q.byTime[0].key
	q.Remove(key)
	return key, true
}

// First returns the time at which the first key is due. If the queue is empty, found is false.
func (q *Queue[K]) First() (at time.Time, found bool) {
	if len(q.byTime) == 0 {
		return at, false
	}
	return q.byTime[0].at, true
}

// Len returns the number of keys.
func (q *Queue[K]) Len() int { return len(q.byTime) }

// byTime implements heap.Interface.
type byTime[K comparable] []*entry[K]

// Len implements heap.Interface.
func (b byTime[K]) Len() int { return len(b) }

// Less implements heap.Interface.
func (b byTime[K]) Less(i, j int) bool { return b[i].at.Before(b[j].at) }

// Swap implements heap.Interface.
func (b byTime[K]) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

// Push implements heap.Interface.
func (b *byTime[K]) Push(x any) {
	if e, ok := x.(*entry[K]); ok {
		e.index = len(*b)
		*b = append(*b, e)
	}
}

// Pop implements heap.Interface.
func (b *byTime[K]) Pop() any {
	last := len(*b) - 1
	e := (*b)[last]
	(*b)[last], *b = nil, (*b)[:last]
	return e
}
