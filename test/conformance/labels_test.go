//go:build !slow

package conformance_test

// labelFilter leaves out the specs with the label slow.
const labelFilter = "!slow"
