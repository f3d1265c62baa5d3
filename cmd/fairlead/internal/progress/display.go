package progress

import (
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// Display shows a person one report after the other.
type Display interface {
	Show(Report)
}

// NewDisplay returns the display that fits what is written to: on a terminal the latest report is redrawn in place, elsewhere, as in a log,
// each line is written once.
func NewDisplay(out io.Writer) Display {
	fd, ok := terminal.Descriptor(out)
	if !ok {
		return &log{out: out, printed: Printed{}}
	}
	return NewBlock(out, func() (int, int) { return terminal.Size(fd) })
}

// log writes each line once.
type log struct {
	out     io.Writer
	printed Printed
}

func (l *log) Show(report Report) {
	for _, line := range l.printed.New(report.Lines) {
		_, _ = fmt.Fprintln(l.out, line)
	}
}

// Block is a part of a terminal that is redrawn.
type Block struct {
	out  io.Writer
	size func() (width, height int)
	// drawn are the lines that are to be replaced.
	drawn []string
}

// NewBlock returns a block on a terminal, of which size tells the columns and rows.
func NewBlock(out io.Writer, size func() (width, height int)) *Block {
	return &Block{out: out, size: size}
}

// Terminal sequences, of ECMA-48: the cursor goes up by lines, and all from there on is erased.
const (
	cursorUp   = "\x1b[%dA"
	eraseBelow = "\x1b[J"
)

// Show replaces the lines of the report before. What follows a report without lines takes its place.
func (b *Block) Show(report Report) {
	lines := make([]string, 0, len(report.Lines))
	for _, line := range report.Lines {
		lines = append(lines, terminal.Clean(line))
	}
	b.Draw(lines)
}

// Draw replaces the lines of before. They are clean but for colours of ours.
func (b *Block) Draw(wanted []string) {
	width, height := b.size()
	lines := fit(wanted, width, height)
	if strings.Join(lines, "\n") == strings.Join(b.drawn, "\n") {
		return
	}
	var text strings.Builder
	if len(b.drawn) > 0 {
		fmt.Fprintf(&text, cursorUp, len(b.drawn))
		text.WriteString(eraseBelow)
	}
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	b.drawn = lines
	// At once, or it would flicker.
	_, _ = io.WriteString(b.out, text.String())
}

// fit cuts lines such that each takes one row, and all of them leave one for the cursor: what scrolled away could not be redrawn.
func fit(lines []string, width, height int) []string {
	rows := max(height-1, 1)
	var fitting []string
	for i, line := range lines {
		if i == rows-1 && len(lines) > rows {
			return append(fitting, terminal.Cut(fmt.Sprintf("… and %d more lines", len(lines)-i), width))
		}
		fitting = append(fitting, terminal.Cut(line, width))
	}
	return fitting
}
