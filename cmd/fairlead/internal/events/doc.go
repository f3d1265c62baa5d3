// Package events lists and follows the Events of a component, of its dependents, and of objects that controllers of
// Kubernetes created for the dependents.
//
// The package reads Events in the namespaces of these objects, and shows each version of an Event once. Package
// ownership determines which objects belong to a component. Package show formats Events.
package events
