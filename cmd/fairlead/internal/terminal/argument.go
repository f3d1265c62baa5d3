package terminal

import "strings"

// Argument returns a text as an argument of a command that a person may copy into a shell.
func Argument(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
