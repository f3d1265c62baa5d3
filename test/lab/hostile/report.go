package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

// report prints the figures of a run.
func (w *world) report() {
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	row := func(what string, values ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprint(values...))
	}
	row("hostile components", w.attacker.made.sum(), ", of which the API server refused ", w.attacker.refused.sum())
	for _, kind := range slices.Sorted(maps.Keys(w.attacker.made)) {
		row("  "+kind, w.attacker.made[kind])
	}
	row("records replaced by bombs", w.attacker.tampered)
	row("changes of the good component", len(w.good.times))
	row("  time until Ready, median", w.good.percentile(50))
	row("  time until Ready, 95 %", w.good.percentile(95))
	row("  time until Ready, worst", w.good.percentile(100))
	row("memory of operator and children, peak", w.operator.peak.Load(), " MiB")
	row("live heap before, after", fmt.Sprintf("%.0f MiB, %.0f MiB", w.before/mebibyte, w.after/mebibyte))
	row("liveness probes: slowest, failed", time.Duration(w.operator.slowestProbe.Load()).Round(time.Millisecond), ", ",
		w.operator.failedProbes.Load())
	row("renderings killed", w.killed())
	row("components that wait for their deletion", len(w.attacker.waiting))
	_ = t.Flush() // The output is a terminal, so errors are ignored.
	for _, text := range w.attacker.waiting[:min(len(w.attacker.waiting), program.MaxShown)] {
		_, _ = fmt.Fprintln(w.out, " ", text)
	}
}

// killed returns the number of log lines about renderings that were killed.
func (w *world) killed() int {
	text, err := os.ReadFile(w.log)
	if err != nil {
		return 0
	}
	return strings.Count(string(text), "the rendering was killed")
}
