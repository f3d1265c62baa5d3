package valuetypes

import (
	"strings"
	"unicode"
)

// initialisms are words that Go names contain in capitals.
var initialisms = map[string]bool{
	"ACL": true, "API": true, "ASCII": true, "CPU": true, "CSS": true, "DNS": true, "EOF": true, "GUID": true,
	"HTML": true, "HTTP": true, "HTTPS": true,
	"ID": true, "IP": true, "JSON": true, "LHS": true, "QPS": true, "RAM": true, "RHS": true, "RPC": true, "SLA": true,
	"SMTP": true, "SQL": true,
	"SSH": true, "TCP": true, "TLS": true, "TTL": true, "UDP": true, "UI": true, "UID": true, "URI": true, "URL": true,
	"UTF8": true, "UUID": true,
	"VM": true, "XML": true, "XMPP": true, "XSRF": true, "XSS": true,
}

// goName returns the Go name of the field for a key. The name is empty if the key has no letter or digit.
func goName(key string) string {
	var out strings.Builder
	for _, word := range words(key) {
		if upper := strings.ToUpper(word); initialisms[upper] {
			out.WriteString(upper)
			continue
		}
		runes := []rune(word)
		out.WriteRune(unicode.ToUpper(runes[0]))
		out.WriteString(string(runes[1:]))
	}
	name := out.String()
	if name == "" {
		return ""
	}
	if first := []rune(name)[0]; !unicode.IsUpper(first) {
		// The name begins with a digit, or with a letter of a script without capitals, so it needs a prefix.
		return "X" + name
	}
	return name
}

// words splits a key at characters that are neither letters nor digits, and between a small letter and a capital.
func words(key string) []string {
	var found []string
	var current []rune
	end := func() {
		if len(current) > 0 {
			found = append(found, string(current))
		}
		current = nil
	}
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && len(current) > 0 && !unicode.IsUpper(current[len(current)-1]) {
			end()
		}
		current = append(current, r)
	}
	end()
	return found
}

// isName reports whether a key can be the JSON name of a struct field. encoding/json accepts letters, digits and some
// punctuation. Keys with dots and slashes are usually labels or annotations, whose set is not fixed.
func isName(key string) bool {
	if goName(key) == "" || len(key) > 200 {
		return false
	}
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_ :@+", r) {
			return false
		}
	}
	return true
}

// unique returns the name if it is not taken, and otherwise the name with a suffix. It adds the result to taken.
func unique(name string, taken map[string]bool) string {
	candidate := name
	for i := 2; taken[candidate]; i++ {
		candidate = name + strings.Repeat("X", i-1)
	}
	taken[candidate] = true
	return candidate
}
