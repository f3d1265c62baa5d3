// Package schedule decides when a pass over a component may begin, and when the next pass is due.
//
// It has no side effects, and its results depend only on its arguments and on random jitter: the time is an argument,
// and the memory of a component is a State that the caller keeps. Three rules compete. A failure that a retry can help
// is retried with back-off, from half a second to a minute. A denied request, for example for lack of a right, is
// retried with a delay that equals the time since the first denial. In all other cases the component waits for events,
// and a pass is made at least at the retry interval or the resync interval. The rate limit delays a pass in all three
// cases.
//
// It imports packages outcome, condition, plan and the API types, and no client.
package schedule
