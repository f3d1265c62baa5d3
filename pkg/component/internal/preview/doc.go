// Package preview simulates passes over a component without writes.
//
// It runs the same reconcile.Pass on other ports: the Simulator takes the place of the applier, and the other ports
// read instead of watching, write no record, and impersonate no identity. All requests go through a transport that
// makes dry runs of writes. Package plan makes the plans, as in a real pass. As soon as the Forecast lists a wait, the
// wait counts as over, so that the Forecast holds all writes until nothing is left to do.
//
// It imports package reconcile and the packages below, and only the public package imports it.
package preview
