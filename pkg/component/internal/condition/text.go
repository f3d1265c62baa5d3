package condition

import "strings"

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 4096

// Message returns text as the message of a condition: in a single line, bounded in length.
func Message(text string) string {
	return Truncate(strings.ReplaceAll(text, "\n", "; "), maxMessage)
}

// Truncate bounds text to limit bytes of valid UTF-8. A shortened text ends with " …".
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(text, "")
	}
	return strings.ToValidUTF8(text[:limit-len(" …")], "") + " …"
}
