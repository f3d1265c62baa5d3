package markdown

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteTable prints rows of equal length as a Markdown table with aligned columns. The first row is the header.
func WriteTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		for j, cell := range row {
			_, _ = fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)))
		}
		_, _ = fmt.Fprintln(w, "|")
		if i > 0 {
			continue
		}
		for _, width := range widths {
			_, _ = fmt.Fprintf(w, "|%s", strings.Repeat("-", width+2))
		}
		_, _ = fmt.Fprintln(w, "|")
	}
}
