// Package execute carries out the actions of a plan. It is the only code that writes dependents.
//
// An Executor turns each action into requests to the API server and returns a result: the object in the answer, or a
// classified failure. It runs actions in parallel within a limit that all runs share fairly. Clients hold the
// identities of the requests, the writer builds them, the admission guard protects types that are about to be deleted,
// and DryRun sends the same requests through clients that only make dry runs.
//
// The rule: nothing is decided here. After a conflict, the object is read and returned, and the next plan decides.
// Preconditions of an action are sent with its request, or checked against a read whose resource version the request
// carries. The package imports plan's data types, inspect and rights. It may not import observe, the generators, or a
// package above it.
package execute
