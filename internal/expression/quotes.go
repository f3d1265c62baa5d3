package expression

import (
	"regexp"
	"strings"
)

var wordCharacter = regexp.MustCompile(`^[A-Za-z0-9_]$`)

// EndOfQuote returns the position after a quoted text of CEL that begins at start, or -1 if it is not closed. In a raw
// text, with an r before the quote, a backslash has no meaning.
func EndOfQuote(text string, start int) int {
	quote := text[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[start:], triple) {
		quote = triple
	}
	raw := isRaw(text[:start])
	for i := start + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return -1
}

// isRaw reports whether the text before a quote ends with the prefix of a raw text: r, in any order with b.
func isRaw(before string) bool {
	prefix := before[len(strings.TrimRight(before, "rRbB")):]
	if len(prefix) == 0 || len(prefix) > 2 || !strings.ContainsAny(prefix, "rR") {
		return false
	}
	rest := before[:len(before)-len(prefix)]
	return rest == "" || !wordCharacter.MatchString(rest[len(rest)-1:])
}
