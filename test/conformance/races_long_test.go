//go:build long

package conformance_test

// races is the number of times that the deletion of a definition is raced against clients that create instances.
const races = 50
