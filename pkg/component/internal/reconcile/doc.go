// Package reconcile makes passes over components. It is the table of contents of the engine.
//
// Runner.Reconcile loads a component, runs a pass, and reports it: the only write of the status at the end of a pass.
// Pass.Apply brings the dependents closer to the rendered set in eight steps, and Pass.Delete deletes them by the
// record alone. Each step is a call of another room, and takes the results of the steps before it. A pass never
// waits: a watch event or a deadline starts the next one.
//
// A preview runs the same Pass on ports that only make dry runs. The package imports all rooms below it, and nothing
// imports it but package preview and the public package. Nothing in it is generic: what a component declares arrives as
// values, and the hooks of an author as functions.
package reconcile
