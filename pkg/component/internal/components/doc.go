// Package components is the only reader and writer of component objects.
//
// A Store loads the newest known version of a component and writes its status and finalizers. Every write is bound to
// the resource version and to the inventory record that the pass started from, so that two operators with the same name
// cannot overwrite each other's changes. Passes contains the in-flight passes, and interrupts a pass if its component
// has changed. Owners computes owner ids from the cluster id.
//
// The package is not generic: a component is an Object. It stores one small State per component, in a map that the
// caller owns.
package components
