package reference

import "strings"

// Table returns a table in Markdown. Cells are Markdown. Line breaks in a cell are replaced by spaces.
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

// Code returns text as code, unless it is empty.
func Code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + oneLine(text) + "`"
}

// Prose escapes text that is not Markdown.
func Prose(text string) string { return strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
