package versus

import (
	"runtime"
	"testing"
	"time"
)

// Compare runs engine and bare alternately. It reports the quickest run of each, and the ratio of engine to bare:
// x-time and x-allocs. The quickest runs are comparable even if the machine also runs other programs.
func Compare(b *testing.B, engine, bare func() error) {
	b.Helper()
	best := [2]cost{run(b, engine), run(b, bare)}
	for b.Loop() {
		best[0] = best[0].min(run(b, engine))
		best[1] = best[1].min(run(b, bare))
	}
	b.ReportMetric(0, "ns/op") // The sum of the two times has no meaning.
	b.ReportMetric(float64(best[0].duration.Microseconds()), "engine-µs")
	b.ReportMetric(float64(best[1].duration.Microseconds()), "bare-µs")
	b.ReportMetric(float64(best[0].allocations), "engine-allocs")
	b.ReportMetric(float64(best[1].allocations), "bare-allocs")
	b.ReportMetric(float64(best[0].duration)/float64(best[1].duration), "x-time")
	b.ReportMetric(float64(best[0].allocations)/float64(best[1].allocations), "x-allocs")
}

// cost is the time and the number of allocations of a run.
type cost struct {
	duration    time.Duration
	allocations uint64
}

func (c cost) min(other cost) cost {
	return cost{duration: min(c.duration, other.duration), allocations: min(c.allocations, other.allocations)}
}

func run(b *testing.B, work func() error) cost {
	b.Helper()
	var before, after runtime.MemStats
	// The garbage of the previous run is collected before the measurement.
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	err := work()
	duration := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		b.Fatal(err)
	}
	return cost{duration: duration, allocations: after.Mallocs - before.Mallocs}
}
