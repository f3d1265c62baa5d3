// Package telemetry counts and traces passes and the actions on dependents.
//
// A Monitor serves the applier and the executor: steps, waves, actions, repairs. PassMetrics serve the reconciler: the
// result of each pass, the states of the components, and the time from new inputs to ready. Series of single components
// are made from the current states when they are collected, so they end with their component.
//
// It imports packages metrics, tracing, plan, outcome, condition and status. It decides nothing.
package telemetry
