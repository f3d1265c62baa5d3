// Package metrics counts the work of reconcilers, for Prometheus.
//
// Instruments are the series of a process. They are in the registry of controller-runtime, which every manager serves;
// the label reconciler distinguishes the reconcilers of a process. A Meter counts the passes, steps, requests and
// repairs of one reconciler. A ComponentSet has the last state of each component. The series of components are created
// at each scrape, so that a deleted component has no series. docs/monitoring.md explains all series.
//
// The rule: no decision depends on a metric.
package metrics
