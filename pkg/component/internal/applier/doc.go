// Package applier brings the dependents of a component closer to the desired set: it gathers facts, plans, records,
// and executes, until a plan has no actions left. The reconciler, the public Engine and the simulator of a preview
// share it.
//
// Nothing is written to a dependent before the inventory that names it is recorded, and no object is created after
// another operator may have deleted it: see the create guard. Waiting is no part of the loop. A pass ends with what it
// waits for, and a watch event or a deadline starts the next one.
//
// It imports packages target, protect, observe, execute, plan, outcome and telemetry, and no package above. It decides
// nothing that package plan can decide.
package applier
