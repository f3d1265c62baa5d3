// Package engine applies and deletes sets of dependents without a controller, as a Reconciler of package component does
// with one: in waves, with the same policies, drift repair and safe deletion.
//
// It is for controllers that a Reconciler does not fit: for objects of a type that cannot have the status of a
// component, for reconcile functions that do more than apply a set, and for programs without a controller.
//
// # Passes
//
// An Engine does its work in passes. A pass compares the desired objects and the recorded inventory with the cluster,
// writes what can be written now, and never waits. Its Outcome says what it changed, what it waits for, and when the
// next pass is due. The engine watches the dependents, and calls Wake when a watch event makes another pass useful.
//
// # Standalone use
//
// Most callers use a Standalone, which adds to an Engine what the Reconciler has besides. It renders nothing, and keeps
// no state but the inventory. For an object, the method Reconcile does all of this in the safe order:
//
//   - it adds a finalizer to the object, before anything else is written;
//   - it applies the manifests that the caller renders, and adds each dependent to the inventory before its create;
//   - if the object is being deleted, it deletes the dependents, which needs no rendering;
//   - it removes the finalizer when no dependent exists any more.
//
// Apply and Delete do the same for an owner that is not an object, such as a set with a name. The example of this
// package is a complete controller.
//
// The inventory of an owner is in a Secret beside the owner. If two processes work for one owner, one of them gets a
// conflict before it creates a dependent, or when it writes its result. If the Secret is lost or edited, it is rebuilt
// from the labels of the dependents, and the pass ends with a RecoveredError before it changes a dependent. A Secret of
// somebody else is left alone.
//
// # An inventory of your own
//
// A caller that stores the inventory itself calls the methods of Engine. It makes the desired objects with
// normalise.Manifests, with Engine.Scope for the scopes of types and Engine.ClusterID for the owner, and gives the pass
// a function WriteInventory, which must fail if another process stored an inventory meanwhile. It must store
// Outcome.Inventory after a pass, and must never pass an empty inventory because the stored one cannot be read: the
// dependents would be forgotten.
package engine
