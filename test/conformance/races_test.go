//go:build !long

package conformance_test

// races is how often the deletion of a definition is raced against creators.
const races = 3
