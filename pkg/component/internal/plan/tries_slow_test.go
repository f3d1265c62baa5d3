//go:build slow

package plan

// tries is the number of random components of each kind.
const tries = 3000
