// Package reconcile makes passes over components. The functions Pass.Apply and Pass.Delete list the steps of a pass in
// order.
//
// Runner.Reconcile loads a component, runs a pass, and reports its result. The report is the only write of the status
// at the end of a pass. Pass.Apply renders the dependents of a component and applies them, in eight steps. Pass.Delete
// deletes the dependents in the recorded inventory, without rendering. Each step is a call of another internal package,
// and takes the results of the steps before it. A pass never waits: a watch event or a deadline starts the next pass.
//
// A preview runs the same Pass on ports that only make dry runs. The package has no type parameters: it gets the fields
// of a component's spec as values, and the hooks of an operator's author as functions.
package reconcile
