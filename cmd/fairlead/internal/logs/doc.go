// Package logs shows the logs of a component's pods: it finds the workloads among the dependents and their pods, and it
// merges the logs of the containers, or follows them.
//
// It reads through package cluster; package ownership decides which pods belong to a component. A log that cannot be
// read never hides another log.
package logs
