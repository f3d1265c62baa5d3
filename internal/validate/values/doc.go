// Package values compares the values of an object with the schema of its type: required fields, enumerations, ranges,
// patterns, lengths, formats and validation rules. The names of fields and the kinds of values are checked by
// internal/validate.
//
// A custom type is checked by the functions with which an API server checks it, defaults included. The schemas of the
// types of Kubernetes say less than their API server checks, and sometimes more, so only their required fields and
// enumerations are used, and each fault is a suspicion.
//
// The package is pure. It knows schemas and plain data, and no other package of this repository but internal/bounded.
package values
