// Package wait waits until a component reaches a state, and shows its progress meanwhile.
//
// It combines the watch of package cluster with the reports of package progress. Its errors are of package exit: a
// time-out, an interruption and a component that failed have different messages, and the first two name what the
// component waits for.
package wait
