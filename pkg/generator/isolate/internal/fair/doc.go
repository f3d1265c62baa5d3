// Package fair decides which renderings run in a bounded number of processes, so that long renderings of one namespace
// do not hold up the others.
//
// A rendering of more than Quick is long. Long renderings need one of max(1, n-1) long places among n processes. Quick
// ones use all processes. A process, or a long place, goes to the namespace that has spent the least time.
//
// The package decides and does nothing else: it has no clock, no lock and no process. The line of package isolate
// carries the decisions out.
package fair
