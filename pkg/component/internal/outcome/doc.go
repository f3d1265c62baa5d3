// Package outcome defines the result of a pass over a component, as plain data.
//
// Package applier returns an Outcome. Packages status and schedule derive the conditions, the Event and the time of the
// next pass from an Outcome. This package makes no decisions.
package outcome
