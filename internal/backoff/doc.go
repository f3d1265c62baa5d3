// Package backoff says how long to wait before an attempt is repeated, and spreads times that would coincide.
//
// It enforces two rules. A delay grows by doubling and never passes its limit, however many attempts failed. A random
// part is always a share of the period that it spreads, so a reader of a call sees the earliest and the latest time.
//
// The package keeps no state: its callers count the failures. Loops that keep a state between their attempts use a
// wait.Backoff of k8s.io/apimachinery: watches, the collector of records, and the command line.
package backoff
