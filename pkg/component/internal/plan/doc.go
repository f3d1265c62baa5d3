// Package plan decides what to do with the dependents of a component: facts go in, a plan comes out. It is pure: no context, no
// client, no clock, no logger. The engine observes, asks for a plan, carries out its actions, and asks again with what the API server
// answered, until a plan has no actions left.
package plan
