package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// measure is a row of the table.
type measure struct {
	name string
	// summary is the value in the row. If it is empty, the value of the worst place is used.
	summary string
	places  []place
	goal    string
	// limit is the goal as a number, if places above it need a reason; see reasons.
	limit int
	// lowest is set if low values are worse than high values.
	lowest bool
	// every is set if the row names all places.
	every bool
}

// place is a measured value and its location.
type place struct {
	value int
	where string
}

func (p place) String() string { return fmt.Sprintf("%d %s", p.value, p.where) }

// worst returns the places in descending order, the worst first.
func (m measure) worst() []place {
	return slices.SortedFunc(slices.Values(m.places), func(a, b place) int {
		order := cmp.Compare(b.value, a.value)
		if m.lowest {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.where, b.where))
	})
}

// rows returns the cells of a measure, with a row for each of its worst places.
func (m measure) rows(top int) [][]string {
	places := m.worst()
	if !m.every {
		places = places[:min(max(top, 1), len(places))]
	}
	if len(places) == 0 {
		return [][]string{{m.name, cmp.Or(m.summary, "0"), "", m.goal}}
	}
	first := []string{m.name, m.summary, places[0].where, m.goal}
	if m.summary == "" {
		first[1] = fmt.Sprint(places[0].value)
	} else {
		first[2] = places[0].String()
	}
	rows := [][]string{first}
	for _, p := range places[1:] {
		if m.summary == "" {
			rows = append(rows, []string{"", fmt.Sprint(p.value), p.where, ""})
			continue
		}
		rows = append(rows, []string{"", "", p.String(), ""})
	}
	return rows
}

// writeTable prints measures as a Markdown table with aligned columns.
func writeTable(out io.Writer, measures []measure, top int) {
	rows := [][]string{{"measure", "value", "where", "goal"}}
	for _, m := range measures {
		rows = append(rows, m.rows(top)...)
	}
	markdown.WriteTable(out, rows)
}
