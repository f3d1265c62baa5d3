package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// result is the result of a case.
type result struct {
	testCase
	verdict
}

func (r result) String() string {
	if r.variant == "" {
		return r.name
	}
	return r.name + " " + r.variant
}

func (r result) outcome() string {
	switch {
	case len(r.differences) > 0:
		return fmt.Sprintf("DIFFERENT: %d", len(r.differences))
	case r.refused != "":
		return "both refuse"
	}
	return "equal"
}

// report writes a table and a summary, and returns the exit code: 1 if a case differs.
func report(out io.Writer, results []result) int {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SOURCE\tVARIANT\tRIVAL\tOBJECTS\tMASKED\tRESULT")
	for _, r := range results {
		_, _ = fmt.Fprintf(
			table,
			"%s\t%s\t%s\t%d\t%d\t%s\n",
			r.name,
			r.variant,
			r.rival,
			r.objects,
			len(r.masked),
			r.outcome(),
		)
	}
	_ = table.Flush()
	different, refused := 0, 0
	for _, r := range results {
		section(out, r, "both refuse", strings.Split(r.refused, "\n"), r.refused != "")
		section(out, r, "masked, because two runs of "+string(r.rival)+" differ", r.masked, len(r.masked) > 0)
		section(out, r, "DIFFERENT", r.differences, len(r.differences) > 0)
		switch {
		case len(r.differences) > 0:
			different++
		case r.refused != "":
			refused++
		}
	}
	_, _ = fmt.Fprintf(out, "\n%d renderings: %d equal, %d refused by both, %d different\n",
		len(results), len(results)-different-refused, refused, different)
	return min(different, 1)
}

func section(out io.Writer, r result, title string, lines []string, show bool) {
	if !show {
		return
	}
	_, _ = fmt.Fprintf(out, "\n%s: %s\n", r, title)
	for _, line := range lines {
		_, _ = fmt.Fprintf(out, "  %s\n", line)
	}
}
