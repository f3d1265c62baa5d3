// Package determinism compares two renderings of the same inputs.
//
// Compare returns the difference: the fields with other values, and the objects, fields and lists that are in one
// rendering only. Merge restores the values of an earlier rendering in such fields, so that a generated password, for
// example, stays the same. If it cannot restore all of them, it restores none.
//
// The rule: a difference names objects and fields, and never a value, because it is shown in conditions and events and
// may be about a Secret. The package is pure. It imports manifests, and no other room.
package determinism
