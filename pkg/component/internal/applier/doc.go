// Package applier brings the dependents of a component closer to the desired set: it gathers facts, plans, records,
// and executes, until a plan has no actions left. The reconciler, the public Engine and the simulator of a preview
// share it.
//
// Nothing is written to a dependent before the inventory that names it is recorded, and no object is created after
// another operator may have deleted it: see the create guard. The loop does not wait: a pass ends with a list of the
// objects that it waits for, and a watch event or a deadline starts the next pass.
//
// It imports packages target, protect, observe, execute, plan, outcome and telemetry, and no package above them. It
// decides nothing that package plan can decide.
package applier
