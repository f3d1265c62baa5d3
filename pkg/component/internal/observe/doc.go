// Package observe keeps facts about the live dependents of components, without a request per object.
//
// An Observer runs one watch per type, selected by the owner label, for each identity that reads a target. From the
// events of the watches, the Observer answers in a snapshot which dependents exist, who owns them, whether they are
// ready, and whether they drifted. When another client changes a dependent, the Observer enqueues the owner: a pass
// over that component begins soon. The events of the reconciler's own writes enqueue no component. References watches
// the metadata of other objects: inputs, looked-up objects and namespaces.
//
// The rule: facts, never bodies, and nothing is polled. Facts are complete or Unknown: the objects of a type are known
// after its list was answered and its watch was opened. The package imports plan's data types, inspect and rights. It
// may not import execute, the generators, or a package above it.
package observe
