//go:build slow

package externals_test

// seeds is the number of random histories of externals.
const seeds = 100
