// Package events lists and follows the events of a component, of its dependents, and of the objects that controllers of
// Kubernetes made for these.
//
// It reads Events in the namespaces of these objects and shows each version of an event once. Package ownership decides
// which objects belong to a component; package show formats events.
package events
