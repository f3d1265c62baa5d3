// Package logs shows the logs of a component's pods. It finds the workloads among the dependents and the pods of the
// workloads, and merges or follows the logs of their containers.
//
// The package reads with package cluster. Package ownership determines which pods belong to a component. If a log
// cannot be read, the other logs are still shown.
package logs
