// Package wait waits until a component reaches a state, and shows the progress during the wait.
//
// The package watches the component with package cluster, and shows reports of package progress. It returns errors of
// package exit, with different messages for a time-out, an interruption and a failed component. The messages for a
// time-out and an interruption name the dependents that the component waits for.
package wait
