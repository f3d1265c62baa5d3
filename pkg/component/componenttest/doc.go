// Package componenttest puts an operator through what goes wrong in a cluster, and checks that it comes to the same end
// all the same.
//
// A Scenario is the life of a component: it is installed, changed, disturbed and deleted. Run runs it once without
// faults, to learn what it should come to, and then with each seed. Between the operator and the API server stands an
// Injector, which lets requests wait, fail, time out before or after they are carried out, answers reads with what an
// object was before, cuts watches, and ends the process at a request that the seed chooses; then the next one is
// started, as kubelet would.
//
// After each step a run must have come to the same end state as the one without faults: the same dependents with the
// same values and owned fields, the same record; nothing created more often, nothing leaked or lost. After a crash,
// whatever the operator wrote to must be in the record. Objects of others, among them one with a copy of the owner
// label, stay untouched.
//
// Calls to external systems meet faults, too, if the operator sends them by the transport of WrapCalls.
//
// The cluster must be one for tests. It needs no more than an API server, unless a dependent needs a controller to
// become ready; envtest will do.
package componenttest
