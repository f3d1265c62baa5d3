//go:build slow

package conformance_test

// labelFilter selects all specs.
const labelFilter = ""
