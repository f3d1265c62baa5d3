package due_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/due"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestKeysAreReturnedInTheOrderOfTheirTimes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*due.Queue[string])
		// now is the number of seconds after the start.
		now  int
		want []string
		left int
	}{
		{name: "all that are due", change: func(*due.Queue[string]) {}, now: 2, want: []string{"a", "b"}, left: 1},
		{name: "none is due", change: func(*due.Queue[string]) {}, now: 0, left: 3},
		{name: "a later time", change: func(q *due.Queue[string]) {
			q.Set("a",
				start.Add(9*time.Second))
		}, now: 3, want: []string{"b", "c"}, left: 1},
		{name: "a sooner time", change: func(q *due.Queue[string]) {
			q.Set("c",
				start)
		}, now: 1, want: []string{"c", "a"}, left: 1},
		{name: "a removed key", change: func(q *due.Queue[string]) { q.Remove("a") }, now: 9, want: []string{"b", "c"}},
		{
			name: "a key that is not there", change: func(q *due.Queue[string]) { q.Remove("d") }, now: 9,
			want: []string{"a", "b", "c"},
		},
		{
			name: "a key that was removed and set again", now: 9, want: []string{"b", "c", "a"},
			change: func(q *due.Queue[string]) { q.Remove("a"); q.Set("a", start.Add(9*time.Second)) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var q due.Queue[string]
			for i, key := range []string{"b", "c", "a"} {
				q.Set(key, start.Add([]time.Duration{2, 3, 1}[i]*time.Second))
			}
			c.change(&q)
			now := start.Add(time.Duration(c.now) * time.Second)
			var got []string
			for key, found := q.Pop(now); found; key, found = q.Pop(now) {
				got = append(got, key)
			}
			if !slices.Equal(got, c.want) || q.Len() != c.left {
				t.Errorf("got %v, and %d are left", got, q.Len())
			}
			if at, found := q.First(); found != (c.left > 0) || found && !now.Before(at) {
				t.Errorf("the first of the others is due at %s", at)
			}
		})
	}
}

func TestManyKeysKeepTheirOrder(t *testing.T) {
	var q due.Queue[int]
	const keys = 1009
	for i := range keys {
		q.Set(i, start.Add(time.Duration(i*37%keys)*time.Second))
	}
	for i := range keys {
		if i%3 == 0 {
			q.Remove(i)
		}
	}
	last, n := time.Duration(-1), 0
	for key, found := q.Pop(start.Add(time.Hour)); found; key, found = q.Pop(start.Add(time.Hour)) {
		at := time.Duration(key * 37 % keys)
		if at < last || key%3 == 0 {
			t.Fatalf("key %d of second %d comes after second %d", key, at, last)
		}
		last, n = at, n+1
	}
	if n != keys-337 {
		t.Errorf("%d keys were returned", n)
	}
}

func TestTheTimeOfAKeyIsTheLastThatWasSet(t *testing.T) {
	var q due.Queue[string]
	if _, found := q.At("a"); found {
		t.Error("a key of an empty queue is found")
	}
	for _, at := range []time.Time{start.Add(time.Second), start.Add(time.Minute), start} {
		q.Set("a", at)
		if got, found := q.At("a"); !found || !got.Equal(at) {
			t.Errorf("got %s, %t, want %s", got, found, at)
		}
	}
	q.Remove("a")
	if _, found := q.At("a"); found {
		t.Error("a key that was removed is found")
	}
}
