package reference

import "strings"

// Table is a table in Markdown. Cells are Markdown themselves, and become one line each.
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

// Code is text as code, where there is any.
func Code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + oneLine(text) + "`"
}

// Prose is text that is no Markdown: what would be taken for a tag is shown as it is.
func Prose(text string) string { return strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(text) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
