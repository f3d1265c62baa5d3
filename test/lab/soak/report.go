package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/fairlead-io/fairlead/test/program"
)

// counts maps names to numbers.
type counts map[string]int

func (c counts) sum() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// grown returns the names whose numbers are higher in later.
func (c counts) grown(later counts) []string {
	var more []string
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if later[name] > c[name] {
			more = append(more, fmt.Sprintf("%s: %d, before %d", name, later[name], c[name]))
		}
	}
	return more
}

// report prints the operations and their costs.
func (w *world) report(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what string, values ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprint(values...))
	}
	row("operations", w.done.sum())
	for _, o := range operations() {
		row("  "+o.name, w.done[o.name])
	}
	row("maximum of inventories in Secrets", w.spilled)
	row("requests of the operator", w.requests.sum())
	byCount := slices.SortedFunc(maps.Keys(w.requests), func(a, b string) int { return w.requests[b] - w.requests[a] })
	for _, name := range byCount[:min(len(byCount), program.MaxShown)] {
		row("  "+name, w.requests[name])
	}
	row("resources of the operator with only the residents", "at the start, at the end")
	row("  goroutines", w.before.goroutines, ", ", w.after.goroutines)
	row("  live heap", fmt.Sprintf("%.1f MiB, %.1f MiB", w.before.heap/mebibyte, w.after.heap/mebibyte))
	row("  watches", w.before.watches.sum(), ", ", w.after.watches.sum())
	_ = t.Flush() // The output is a terminal, so errors are ignored.
}
