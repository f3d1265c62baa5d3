// Package observe keeps facts about the live dependents of components, without a request per object.
//
// An Observer runs one watch per type, selected by the owner label, for each identity that reads a target. A snapshot
// of an Observer contains which dependents exist, which components own them, whether they are ready, and whether they
// drifted. When another client changes a dependent, the Observer enqueues the component that owns the dependent. The
// watch events of the reconciler's own writes enqueue no component. References watches the metadata of other objects:
// inputs, looked-up objects and namespaces.
//
// The package enforces two rules. An Observer never polls, and it stores facts instead of whole objects, except for the
// types in Options.WithBodies. The state of an object is Unknown until the list of its type has succeeded and the watch
// is open.
package observe
