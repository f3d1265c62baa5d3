// Package plan decides what to do with the dependents of a component: facts go in, a plan comes out.
//
// ForApply and ForDelete are pure: no context, no client, no clock, no logger. The applier gathers facts, calls one of
// these functions, writes the inventory of the plan, and executes the actions of the plan. The applier repeats this
// with the results until a plan contains no actions.
//
// For each dependent the first matching rule decides: applyRules for an object of the apply set (candidate),
// deleteRules for a recorded object that is to be removed (removal). The files apply.go and delete.go put the decisions
// in the order of waves and stages.
//
// The package enforces three rules. An object whose state is Unknown is neither created nor deleted. Each write of an
// existing object has preconditions. An entry is dropped from the inventory only after its object is confirmed not to
// exist, or to belong to somebody else.
package plan
