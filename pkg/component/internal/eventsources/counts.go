package eventsources

import (
	"time"
)

// Kind is a kind of event sources.
type Kind string

// The kinds of event sources.
const (
	KindRelated     Kind = "related"
	KindPolling     Kind = "polling"
	KindPollingEach Kind = "polling-each"
	KindInbound     Kind = "inbound"
)

// Result is the effect of a received value, of a watch event of a related object, or of a request.
type Result string

// The results.
const (
	// ResultWoke is counted for each component that an event source woke.
	ResultWoke Result = "woke"
	// ResultEqual is counted for each value, or version of a related object, that equals the last one.
	ResultEqual Result = "equal"
	// ResultFiltered is counted for each watch event of a related object that Added, Changed or Deleted leaves out.
	ResultFiltered Result = "filtered"
	// ResultFailed is counted for each failed fetch, for each failed list or watch, and for each related object that
	// could not be read after a change.
	ResultFailed Result = "failed"
	// ResultDropped is counted for each received value that was dropped before the first pass over its component.
	ResultDropped Result = "dropped"
)

// Counter counts the results of an event source.
type Counter func(of Kind, name string, result Result, n int)

// Count contains the current numbers of an event source.
type Count struct {
	Name string
	Kind Kind
	// Values is the number of values, or of related objects, and Stale the number of components whose value is not
	// current.
	Values, Stale int
	// Answered is the time of the last fetch, list or received value; zero if there was none.
	Answered time.Time
}

// Counts returns the current numbers of each event source, sorted by name.
func (s *Set) Counts() []Count {
	var counts []Count
	for _, r := range s.all() {
		c := Count{Name: r.name, Kind: r.Kind()}
		c.Values, c.Stale = r.Size()
		if at := r.answered.Load(); at != 0 {
			c.Answered = time.Unix(0, at)
		}
		counts = append(counts, c)
	}
	return counts
}
