// Package determinism compares two renderings of the same inputs.
//
// Compare returns the difference: the fields whose values differ, and the objects, fields and list elements that only
// one rendering has. Merge sets the fields whose values differ to the values of an earlier rendering, so that a
// generated password, for example, does not change. If it cannot restore all of these values, it restores none of them.
//
// The rule: a difference names objects and fields, and never a value. Differences are shown in conditions and Events,
// and an object may be a Secret. The package is pure.
package determinism
