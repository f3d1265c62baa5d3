// Package schedule decides when a pass over a component may begin, and when the next pass is due.
//
// The package has no side effects, and its results depend only on its arguments and on random jitter: the time is an
// argument, and the memory of a component is a State that the caller keeps. The delay of the next pass depends on the
// result of the last pass. A failure that a retry can resolve is retried with back-off, from half a second to a minute.
// A request that was denied, for example because a right is missing, is retried after a delay that is equal to the time
// since the first denial. In all other cases the component waits for an event, and a pass is made at least at the retry
// interval or the resync interval. The rate limit delays a pass in all three cases.
//
// An event is what starts a pass before it is due: a watch event, a new value of an event source, or a request of a
// person or of the author's code.
package schedule
