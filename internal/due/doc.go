// Package due holds keys that are due at a time, and returns the earliest first.
//
// It enforces one rule: a key has one time, and the last time that was set holds, sooner or later than the one before.
// The queue of client-go that delays keys (util/workqueue) does not serve here, because there the earlier time of a key
// holds, and a key cannot be removed. The package reads no clock, so its callers pass the time.
package due
