package polled

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources"
)

// toldAfter is the number of failures in a row after which components are told. A single failure is repeated soon.
const toldAfter = 2

// cell is the value of a component, or of a whole event source. It is not safe for concurrent use.
type cell struct {
	value  any
	digest string
	at     time.Time
	// known is set if there is a value. answered is set after the first success, with or without a value.
	known, answered bool

	failures int
	failure  string
	since    time.Time
}

// put stores a value, and reports whether the component has to be told: its value is another one, it is the first
// answer, or the fetch failed before.
func (c *cell) put(value any, digest string, now time.Time) (news bool) {
	news = !c.answered || !c.known || c.digest != digest || c.isStale()
	*c = cell{value: value, digest: digest, at: now, known: true, answered: true}
	return news
}

// clear stores that there is no value.
func (c *cell) clear() { *c = cell{answered: true} }

// fail stores a failed attempt, and reports whether the component has to be told.
func (c *cell) fail(err error, now time.Time) (news bool) {
	if c.failures++; c.failures == 1 {
		c.since = now
	}
	c.failure = err.Error()
	return c.failures == toldAfter
}

// retry returns the delay before the next attempt after a failure.
func (c *cell) retry() time.Duration { return retries.After(c.failures) }

// isStale reports whether components are told that the value is not current.
func (c *cell) isStale() bool { return c.failures >= toldAfter }

func (c *cell) state() eventsources.State {
	if c.isStale() {
		return eventsources.State{Failure: c.failure, Since: c.since}
	}
	return eventsources.State{Waits: !c.answered}
}

// input returns the value as an input, also a stale one. A cell without an answer contains an error.
func (c *cell) input() (eventsources.Input, error) {
	switch {
	case !c.answered && c.failure != "":
		return eventsources.Input{}, fmt.Errorf("no value yet: %s", c.failure)
	case !c.answered:
		return eventsources.Input{}, eventsources.ErrNoValue
	case !c.known:
		return eventsources.Input{}, nil
	}
	value := c.value
	load := func(context.Context) (any, error) { return eventsources.Plain(value) }
	return eventsources.Input{Digest: c.digest, Load: load}, nil
}

// cellsOf returns a cell for each value.
func cellsOf(values map[types.NamespacedName]any, now time.Time) (map[types.NamespacedName]*cell, error) {
	cells := make(map[types.NamespacedName]*cell, len(values))
	for name, value := range values {
		digest, _, err := eventsources.Digest(value)
		if err != nil {
			return nil, err
		}
		cells[name] = &cell{}
		cells[name].put(value, digest, now)
	}
	return cells, nil
}
