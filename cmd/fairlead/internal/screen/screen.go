// Package screen knows what a person sees: whether there is a terminal at all, what fits on a line of it, and colours.
package screen

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

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

// colour is the sequence, of ECMA-48, that sets or resets a colour. Clean leaves only ours.
var colour = regexp.MustCompile(`^\x1b\[[0-9;]*m`)

// Cut shortens a line, which is clean but for our colours, so that it takes one row of a terminal.
func Cut(line string, width int) string {
	// A terminal may wrap a line that ends in its last column.
	longest := max(width-1, 1)
	parts := split(line)
	if count(parts) <= longest {
		return line
	}
	var kept strings.Builder
	room := longest
	for _, part := range parts {
		switch {
		case len(part) > 1 && part[0] == escape:
			kept.WriteString(part)
			continue
		case room > 1:
			kept.WriteString(part)
		case room == 1:
			kept.WriteRune('…')
		}
		room--
	}
	return kept.String()
}

const escape = '\x1b'

// split takes a line apart, into sequences of colours and characters.
func split(line string) []string {
	var parts []string
	for line != "" {
		size := len(colour.FindString(line))
		if size == 0 {
			_, size = utf8.DecodeRuneInString(line)
		}
		parts = append(parts, line[:size])
		line = line[size:]
	}
	return parts
}

// count returns how many columns the parts of a line take.
func count(parts []string) int {
	columns := 0
	for _, part := range parts {
		if part[0] != escape {
			columns++
		}
	}
	return columns
}
