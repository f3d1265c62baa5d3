// Package eventsources contains the Set of a reconciler, which starts, stops and asks its event sources, and the
// interface that event sources implement.
//
// An event source has a value for each component, or no value. A digest identifies the value. A pass asks the Set, and
// never an event source, so that a pass does not know what kinds exist.
//
// The package enforces three rules. An event source runs at most once, and has no values afterwards. It reaches the
// reconciler only through its Port, which counts what it does. A panic of an author's function is an error of one
// component, and is logged here (CallAuthor).
package eventsources
