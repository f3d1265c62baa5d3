// Package schedule decides when a pass over a component may begin, and when the next pass is due.
//
// It is pure but for the jitter: the time is an argument, and the memory of a component is a State that the caller
// keeps. Three rules compete. A failure that a retry can help is retried with back-off, from half a second to a minute.
// A denied request, such as a missing right, is retried after as long as it has been denied already. Everything else
// waits for events, and is looked at again at the retry interval or the resync interval. The rate limit wins over all.
//
// It imports packages outcome, condition, plan and the API types, and no client.
package schedule
