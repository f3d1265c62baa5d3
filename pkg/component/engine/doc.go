// Package engine applies and deletes sets of dependents without a controller, as a Reconciler of package component does
// with one: in waves, with the same policies, drift repair and safe deletion.
//
// It is for controllers that a Reconciler does not fit. The caller renders the objects, persists the inventory, and
// calls Apply again when the Engine asks for it.
package engine
