// Package external contains the commands about dependents of a component outside Kubernetes: external list and external
// resolve. They ask no external system, which only the operator does.
package external
