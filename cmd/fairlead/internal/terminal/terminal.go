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

// Clean replaces the control characters of a line, and those that change the direction of text, so that names and
// messages from a cluster cannot control the terminal.
func Clean(line string) string { return strings.Map(clean, line) }

// CleanText is like Clean for a text of several lines. It keeps line breaks and tabs.
func CleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return clean(r)
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

func clean(r rune) rune {
	if Controls(r) {
		return unicode.ReplacementChar
	}
	return r
}

// Controls reports whether a character can control a terminal: a control character of C0 or C1, a line separator, or a
// character that changes the direction of text (UAX #9), which makes a terminal show another text than there is.
func Controls(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Cut shortens a line to one row of a terminal of this width. Colour sequences have no width.
func Cut(line string, width int) string {
	// The last column stays empty, because a terminal may wrap a line that ends there.
	return ansi.Truncate(line, max(width-1, 1), "…")
}

// Width returns the number of columns of a line. Wide characters, such as Chinese characters, have two columns. Colour
// sequences have none.
func Width(line string) int { return ansi.StringWidth(line) }
