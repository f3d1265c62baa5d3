// Package conformance contains only specs: the rules of annotations, ownership and deletion, proven by an operator of
// its own (test/gadget) on a real API server. internal/reference/promises.yaml names the specs of each promise.
package conformance
