// Package validate finds the reasons for which an API server would refuse a manifest: the syntax of names, labels,
// annotations and keys, sizes, fields that its type does not have, values that its type refuses, and immutable fields.
//
// Everything here is a suspicion, because an API server may be older or newer than these rules and schemas. The caller
// asks the API server by a dry run, unless a fault is certain. What the package does not know is accepted.
//
// The package is pure.
package validate
