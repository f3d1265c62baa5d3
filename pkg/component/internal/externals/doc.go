// Package externals answers facts about the dependents of components outside Kubernetes, and carries out actions on
// them.
//
// A Manager has the externals of all components. A pass opens a Session, which implements applier.Externals: it makes
// facts for the plan from what the last calls answered, and it begins the calls of actions. No pass waits for a call.
// The end of a call, and a poll that finds a change, wake the component.
//
// The state of an external is recorded before and after each call that writes; see package externalstate and ADR 19.
// The package may import the public package external, the plan and the packages that record; it knows no generic type,
// and sends no request to an API server but through its ports.
package externals
