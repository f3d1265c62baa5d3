// Package plan decides what to do with the dependents of a component: facts go in, a plan comes out.
//
// ForApply and ForDelete are pure: no context, no client, no clock, no logger. The applier gathers facts, asks for a
// plan, records the inventory of the plan, executes its actions, and asks again with the results, until a plan has no
// actions.
//
// For each dependent the first matching rule decides: applyRules for an object of the apply set (candidate),
// deleteRules for a recorded object that is to be removed (removal). apply.go and delete.go put the decisions in order:
// waves and stages.
//
// The package imports manifests, ready and api/meta. The rules that it enforces: nothing is decided about an object
// whose state is Unknown, each write has preconditions, and an entry leaves the inventory only after its object is
// confirmed to be gone, or not to be ours.
package plan
