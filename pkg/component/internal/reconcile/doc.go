// Package reconcile makes passes over components. It is the table of contents of the engine.
//
// Runner.Reconcile loads a component, runs a pass, and reports its result. The report is the only write of the status
// at the end of a pass. Pass.Apply brings the dependents closer to the rendered set in eight steps, and Pass.Delete
// deletes them by the record alone. Each step is a call of another internal package, and takes the results of the steps
// before it. A pass never waits: a watch event or a deadline starts the next one.
//
// A preview runs the same Pass on ports that only make dry runs. Only package preview and the public package component
// may import this package. Nothing in it is generic: the fields of a component's spec arrive as values, and the hooks
// of an operator's author as functions.
package reconcile
