// Package componentexternals reads what is known about the dependents of a component outside Kubernetes: its inventory,
// its status, and the recorded states in Secrets as far as the person may read them. It also tells the operator what
// came of a create with an unknown result.
//
// The package makes no requests to external systems. Only the operator does.
package componentexternals
