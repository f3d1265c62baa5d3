package terminal

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Descriptor returns the file descriptor of out if out is a terminal that can move its cursor. It follows writers that
// have a method Unwrap.
func Descriptor(out io.Writer) (fd int, ok bool) {
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

// The size of a terminal that does not report its size.
const defaultWidth, defaultHeight = 80, 24

// Size returns the columns and rows of a terminal.
func Size(fd int) (width, height int) {
	width, height, err := term.GetSize(fd)
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// Clean replaces the control characters of a line. Names and messages come from a cluster, so they must not control the
// terminal.
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

// Width returns the number of columns that a line takes. Wide characters, such as those of Chinese, take two; colour
// sequences none.
func Width(line string) int { return ansi.StringWidth(line) }
