// Package telemetry counts and traces passes and the actions on dependents.
//
// The applier and the executor use a Monitor for steps, waves, actions and repairs. The reconciler uses PassMetrics for
// the result of each pass, the states of the components, and the time from new inputs to ready. The series of single
// components are created from the current states at each scrape, so that a deleted component has no series.
//
// No decision depends on it.
package telemetry
