// Package execute carries out the actions of a plan. Only this package writes dependents.
//
// An Executor turns each action into requests to the API server and returns a result: the object in the response, or a
// classified failure. The Executor runs actions in parallel within a limit that all runs share fairly. The type clients
// sends requests with the right identity, the type writer builds the requests of actions, and the type admissionGuard
// protects types that are about to be deleted. DryRun sends the same requests through clients that only make dry runs.
//
// The package makes no decisions. After a conflict, it reads and returns the object, and the next plan decides.
// Preconditions of an action are sent with its request, or checked against a read whose resource version the request
// carries.
package execute
