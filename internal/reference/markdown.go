package reference

import "strings"

// Table returns a table in Markdown. The cells contain Markdown. Line breaks in cells are replaced by spaces.
func Table(header []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			out.WriteString("| " + strings.ReplaceAll(oneLine(cell), "|", `\|`) + " ")
		}
		out.WriteString("|\n")
	}
	line(header)
	out.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return out.String()
}

// Code returns text as code in Markdown. It returns an empty text unchanged.
func Code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + oneLine(text) + "`"
}

// Prose escapes plain text, so that Markdown shows it unchanged.
func Prose(text string) string { return strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
