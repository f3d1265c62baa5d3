package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Display shows a person one report after the other.
type Display interface {
	Show(Report)
}

// NewDisplay returns the display that fits what is written to: on a terminal the latest report is redrawn in place, elsewhere, as in a log,
// each line is written once.
func NewDisplay(out io.Writer) Display {
	file, isFile := out.(*os.File)
	if !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return &log{out: out, printed: Printed{}}
	}
	return NewBlock(out, func() (int, int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return defaultWidth, defaultHeight
		}
		return width, height
	})
}

// The size of a terminal that does not tell it.
const defaultWidth, defaultHeight = 80, 24

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
	width, height := b.size()
	lines := fit(report.Lines, width, height)
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
			return append(fitting, cut(fmt.Sprintf("… and %d more lines", len(lines)-i), width))
		}
		fitting = append(fitting, cut(line, width))
	}
	return fitting
}

// cut shortens a line. What controls a terminal is taken out: messages come from anywhere.
func cut(line string, width int) string {
	visible := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line))
	// A terminal may wrap a line that ends in its last column.
	if longest := max(width-1, 1); len(visible) > longest {
		visible = append(visible[:longest-1], '…')
	}
	return string(visible)
}
