package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// counts counts things by their names.
type counts map[string]int

func (c counts) sum() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// grown tells what there is more of later.
func (c counts) grown(later counts) []string {
	var more []string
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if later[name] > c[name] {
			more = append(more, fmt.Sprintf("%s: %d, before %d", name, later[name], c[name]))
		}
	}
	return more
}

// report prints what was done, and what it cost.
func (w *world) report(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what string, values ...any) {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprint(values...))
	}
	row("operations", w.done.sum())
	for _, o := range operations() {
		row("  "+o.name, w.done[o.name])
	}
	row("inventories in Secrets at once", w.spilled)
	row("requests of the operator", w.requests.sum())
	byCount := slices.SortedFunc(maps.Keys(w.requests), func(a, b string) int { return w.requests[b] - w.requests[a] })
	for _, name := range byCount[:min(len(byCount), maxShown)] {
		row("  "+name, w.requests[name])
	}
	row("held with the residents alone", "at the start, at the end")
	row("  goroutines", w.before.goroutines, ", ", w.after.goroutines)
	row("  live heap", fmt.Sprintf("%.1f MiB, %.1f MiB", w.before.heap/mebibyte, w.after.heap/mebibyte))
	row("  watches", w.before.watches.sum(), ", ", w.after.watches.sum())
	_ = t.Flush() // To a person's screen.
}
