// Package externals answers facts about the dependents of components outside Kubernetes, and carries out actions on
// them.
//
// What is known about an external is its situation: what is wanted, what is stored, what was observed, and which call
// is under way. Facts and decisions are functions of a situation, which has a time. A step is a function that changes a
// situation and says what follows. A component makes the steps of its externals under its lock, and carries out what
// follows. A Manager has the components. A pass opens a Session, which implements applier.Externals. No pass waits for
// a call. The end of a call, and a poll that finds a change, wake the component.
//
// Rules: only component.go, state_store.go, accounts.go, polls.go and manager.go have locks, and each of them alone
// accesses what its lock protects. Only calls.go makes calls. The state of an external is stored before and after each
// call that writes; see package externalstate and ADR 19. Requests to an API server are sent through ports.
package externals
