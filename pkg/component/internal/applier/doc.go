// Package applier applies and deletes the dependents of a component. The package repeats four steps until a plan
// contains no actions: gather facts, plan, write the inventory, execute the plan. The reconciler, the public Engine
// and the simulator of a preview use this package.
//
// A dependent is not written before the inventory with its entry is written. An object that another operator may have
// deleted is not created; see the type preparation. The loop does not wait: a pass ends with a list of the objects that
// it waits for, and a watch event or a deadline starts the next pass.
//
// The package leaves all decisions to package plan.
package applier
