// Package preview simulates passes over a component without writes.
//
// The package runs a reconcile.Pass with other ports: the Simulator replaces the applier, and the other ports read
// instead of watching, write no record, and impersonate no identity. All requests go through a transport that turns
// writes into dry runs. Package plan makes the plans, as in a real pass. If a plan waits for an object, the simulation
// adds the wait to the Forecast, and then assumes that the wait is over. So the Forecast contains all writes until
// nothing is left to do.
package preview
