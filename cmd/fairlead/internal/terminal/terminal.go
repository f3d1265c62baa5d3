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

// Clean replaces the control characters of a line, so that names and messages from a cluster cannot control the
// terminal.
func Clean(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

// Cut shortens a line to one row of a terminal of this width. Colour sequences have no width.
func Cut(line string, width int) string {
	// The last column stays empty, because a terminal may wrap a line that ends there.
	return ansi.Truncate(line, max(width-1, 1), "…")
}

// Width returns the number of columns of a line. Wide characters, such as Chinese characters, have two columns. Colour
// sequences have none.
func Width(line string) int { return ansi.StringWidth(line) }
