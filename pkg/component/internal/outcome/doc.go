// Package outcome holds the result of a pass over a component, as plain data.
//
// The applier returns it; packages status and schedule derive from it the conditions, the event and the time of the
// next pass. It imports data types only, and decides nothing.
package outcome
