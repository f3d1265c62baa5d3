// Package preview simulates passes over a component without writes.
//
// It runs the same reconcile.Pass on other ports: the Simulator takes the place of the applier, and the other ports
// read instead of watching, write no record, and impersonate no identity. All requests go through a transport that
// makes dry runs of writes. Each plan is that of package plan; a wait counts as over once it is noted, so that the
// Forecast holds all writes until nothing is left to do.
//
// It imports package reconcile and the rooms below, and only the public package imports it.
package preview
