// Package result holds what passes, forecasts and trees say about dependents, as plain data: an Outcome is the result
// of a pass, a Forecast lists the steps that a preview found, and a NodeState is the readiness of a dependent.
//
// Each of these types is declared here once, and the engine fills them. The package makes no decisions.
package result
