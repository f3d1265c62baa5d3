// Package conformance contains only specs: the rules of annotations, ownership and deletion, proven by an operator of
// its own (test/gadget) on a real API server. docs/reference/promises.md names the spec of each promise.
package conformance
