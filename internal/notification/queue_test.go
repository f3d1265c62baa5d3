package notification

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// numbered returns an Event whose body begins with a number.
func numbered(number, size int) item {
	body := make([]byte, size)
	copy(body, strconv.Itoa(number))
	return item{body: body}
}

func TestAFullQueueLosesItsOldestEvents(t *testing.T) {
	for _, c := range []struct {
		name                string
		added, size         int
		lost, first, length int
	}{
		{"full by number", maxWaiting + 2, 10, 2, 2, maxWaiting},
		{"full by size", 5, maxWaitingBytes / 4, 1, 1, 4},
		{"not full", 3, 10, 0, 0, 3},
		{"one Event above the size", 1, maxWaitingBytes + 1, 1, -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, lost := newQueue(), 0
			for number := range c.added {
				lost += q.add(numbered(number, c.size))
			}
			if lost != c.lost || len(q.waiting) != c.length || q.bytes != c.length*c.size {
				t.Errorf("lost %d, %d wait with %d bytes", lost, len(q.waiting), q.bytes)
			}
			if c.length == 0 {
				return
			}
			first, found := q.next(t.Context())
			if want := strconv.Itoa(c.first); !found || string(first.body[:len(want)]) != want || first.body[len(want)] != 0 {
				t.Errorf("the first is %q, found %t", first.body[:4], found)
			}
		})
	}
}

func TestAClosedQueueReturnsItsEventsAndAcceptsNoMore(t *testing.T) {
	q := newQueue()
	q.add(numbered(1, 10))
	q.close()
	if lost := q.add(numbered(2, 10)); lost != 1 {
		t.Errorf("lost %d", lost)
	}
	if first, found := q.next(t.Context()); !found || first.body[0] != '1' {
		t.Errorf("got %q, found %t", first.body, found)
	}
	if _, found := q.next(t.Context()); found {
		t.Error("an empty queue has an Event")
	}
}

func TestNextWaitsForAnEventAndEndsWithItsContext(t *testing.T) {
	q := newQueue()
	time.AfterFunc(time.Millisecond, func() { q.add(numbered(1, 10)) })
	if _, found := q.next(t.Context()); !found {
		t.Error("no Event")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, found := q.next(ctx); found {
		t.Error("an empty queue has an Event")
	}
	q.add(numbered(2, 10))
	if _, found := q.next(ctx); found || q.drop() != 1 || q.bytes != 0 {
		t.Error("an Event was removed after the end of the context")
	}
}
