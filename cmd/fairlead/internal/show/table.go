package show

import (
	"io"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
)

// cell is a cell of a table.
type cell struct {
	text string
	tone terminal.Tone
}

// row returns a row with the texts as cells.
func row(texts ...string) []cell {
	cells := make([]cell, 0, len(texts))
	for _, text := range texts {
		cells = append(cells, cell{text: oneLine(text)})
	}
	return cells
}

// state returns a cell with a state, in the colour of the state.
func state(text string) cell { return cell{text: orDash(oneLine(text)), tone: toneOf(text)} }

// table writes rows in columns below the titles.
func table(o Output, titles []string, rows [][]cell) error {
	_, err := io.WriteString(o, lines(columns(o.Palette, append([][]cell{titled(titles...)}, rows...))))
	return err
}

// columns returns rows as lines with aligned cells and without trailing spaces.
func columns(p terminal.Palette, rows [][]cell) []string {
	var widths []int
	for _, cells := range rows {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], terminal.Width(c.text))
		}
	}
	aligned := make([]string, 0, len(rows))
	for _, cells := range rows {
		var line strings.Builder
		for i, c := range cells {
			line.WriteString(p.In(c.tone, c.text))
			line.WriteString(strings.Repeat(" ", widths[i]-terminal.Width(c.text)+2))
		}
		aligned = append(aligned, strings.TrimRight(line.String(), " "))
	}
	return aligned
}

// toneOf returns the colour of a state of a component or dependent.
func toneOf(state string) terminal.Tone {
	switch state {
	case string(metav1alpha1.StateReady), string(result.NodeCompleted):
		return terminal.Good
	case string(metav1alpha1.StateStalled), string(metav1alpha1.StateDeletionBlocked), string(result.NodeFailed),
		string(result.NodeMissing), string(result.NodeNotUpdated):
		return terminal.Bad
	case "":
		return terminal.Plain
	}
	return terminal.Busy
}
