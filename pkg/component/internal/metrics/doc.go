// Package metrics counts what reconcilers do, for Prometheus. All series of a process are in the registry of controller-runtime, and tell
// reconcilers apart by a label; docs/monitoring.md lists them.
package metrics
