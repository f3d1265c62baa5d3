// Package conformance holds no code but specs: what the annotations, the ownership rules and the deletion rules promise, proven by an
// operator of its own (test/gadget) on a real API server. The table in docs/dependents.md names the spec of each promise.
package conformance
