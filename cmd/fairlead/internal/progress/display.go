package progress

import (
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/internal/plural"
)

// Display shows a sequence of reports.
type Display interface {
	Show(Report)
}

// NewDisplay returns the Display for a writer. On a terminal, the latest report replaces the previous one. On other
// writers, such as a file, each different line is written once.
func NewDisplay(out io.Writer) Display {
	fd, ok := terminal.Descriptor(out)
	if !ok {
		return &log{out: out, printed: Printed{}}
	}
	return NewBlock(out, func() (int, int) { return terminal.Size(fd) })
}

// log is a Display that writes each different line once.
type log struct {
	out     io.Writer
	printed Printed
}

func (l *log) Show(report Report) {
	for _, line := range l.printed.New(report.Lines) {
		_, _ = fmt.Fprintln(l.out, terminal.Clean(line))
	}
}

// Block is a group of lines on a terminal that can be redrawn.
type Block struct {
	out  io.Writer
	size func() (width, height int)
	// drawn are the lines that are on the terminal now.
	drawn []string
}

// NewBlock returns a Block on a terminal. The function size returns the terminal's columns and rows.
func NewBlock(out io.Writer, size func() (width, height int)) *Block {
	return &Block{out: out, size: size}
}

// Terminal sequences of ECMA-48 that move the cursor up and erase everything below the cursor.
const (
	cursorUp   = "\x1b[%dA"
	eraseBelow = "\x1b[J"
)

// Show replaces the lines of the previous report by the lines of this report.
func (b *Block) Show(report Report) {
	lines := make([]string, 0, len(report.Lines))
	for _, line := range report.Lines {
		lines = append(lines, terminal.Clean(line))
	}
	b.Draw(lines)
}

// Draw replaces the lines of the block. The lines must contain no control characters except for colours.
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
	// All text is written at once, to avoid flicker.
	_, _ = io.WriteString(b.out, text.String())
}

// fit shortens lines and leaves out lines, so that each takes one row and one row is left for the cursor. Lines that
// have scrolled out of the terminal could not be redrawn.
func fit(lines []string, width, height int) []string {
	rows := max(height-1, 1)
	var fitting []string
	for i, line := range lines {
		if i == rows-1 && len(lines) > rows {
			return append(fitting, terminal.Cut("… and "+plural.Of(len(lines)-i, "more line"), width))
		}
		fitting = append(fitting, terminal.Cut(line, width))
	}
	return fitting
}
