package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/json"
)

// toldAfter is the number of failures in a row after which components are told. A single failure is repeated soon.
const toldAfter = 2

// Failed attempts are repeated after firstRetry, then after twice as long each time, up to lastRetry.
const firstRetry, lastRetry = time.Second, time.Minute

// cell is the value of a component, or of a whole source. The lock of the source guards it.
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
// answer, or the source failed before.
func (c *cell) put(value any, digest string, now time.Time) (news bool) {
	news = !c.answered || !c.known || c.digest != digest || c.failures >= toldAfter
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
func (c *cell) retry() time.Duration {
	return min(lastRetry, firstRetry<<min(c.failures-1, 10))
}

func (c *cell) state() State {
	if c.failures >= toldAfter {
		return State{Failure: c.failure, Since: c.since}
	}
	return State{Waits: !c.answered}
}

// input returns the value as an input. A cell without an answer has an error.
func (c *cell) input() (Input, error) {
	switch {
	case !c.answered && c.failure != "":
		return Input{}, fmt.Errorf("no value yet: %s", c.failure)
	case !c.answered:
		return Input{}, errNoValue
	case !c.known:
		return Input{}, nil
	}
	value := c.value
	return Input{Digest: c.digest, Load: func(context.Context) (any, error) { return plain(value) }}, nil
}

// digestOf returns a digest of the JSON form of a value.
func digestOf(value any) (string, error) {
	digest, _, err := measure(value)
	return digest, err
}

// measure returns a digest and the size, in bytes, of the JSON form of a value.
func measure(value any) (digest string, size int, err error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", 0, fmt.Errorf("the value cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), len(data), nil
}

// plain returns a value as plain data: maps, slices, strings, bools, int64 and float64.
func plain(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var result any
	err = json.Unmarshal(data, &result)
	return result, err
}
