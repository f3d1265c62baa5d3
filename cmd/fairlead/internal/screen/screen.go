// Package screen knows what a person sees: whether there is a terminal at all, what fits on a line of it, and colours.
package screen

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Terminal returns the file descriptor of the terminal that is written to, if it is one that can move its cursor. A writer that has a method
// Unwrap writes to what that returns.
func Terminal(out io.Writer) (fd int, ok bool) {
	for {
		wrapped, isWrapped := out.(interface{ Unwrap() io.Writer })
		if !isWrapped {
			break
		}
		out = wrapped.Unwrap()
	}
	file, isFile := out.(*os.File)
	if !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	return int(file.Fd()), true
}

// The size of a terminal that does not tell it.
const defaultWidth, defaultHeight = 80, 24

// Size returns the columns and rows of a terminal.
func Size(fd int) (width, height int) {
	width, height, err := term.GetSize(fd)
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// Clean takes out of a line what controls a terminal: names and messages come from anywhere.
func Clean(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

// Cut shortens a line so that it takes one row of a terminal of this width. Colour sequences take no column.
func Cut(line string, width int) string {
	// A terminal may wrap a line that ends in its last column.
	return ansi.Truncate(line, max(width-1, 1), "…")
}

// Width returns the number of columns that a line takes. Wide characters, such as those of Chinese, take two; colour sequences none.
func Width(line string) int { return ansi.StringWidth(line) }
