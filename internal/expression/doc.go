// Package expression compiles and evaluates CEL expressions of manifests, such as the conditions of dependents.
//
// There is one environment: the standard library of CEL and the extensions of Kubernetes for quantities, addresses,
// versions, lists and regular expressions. Functions that can multiply the size of a text are left out. The text, the
// cost, the time, and the size of each value that an expression constructs are limited, because tenants write
// expressions.
//
// An error is never "false". An expression that reads a missing field has no value yet, which callers distinguish from
// other errors by IsMissing.
package expression
