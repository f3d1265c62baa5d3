package docs

import (
	"regexp"
	"strings"
)

// ellipsis stands for any text in a line. On its own line it stands for any lines.
const ellipsis = "…"

// prompt is the prefix of a command in a console block. A line that ends in a backslash continues on the next line.
const prompt = "$ "

// Command is a command of a console block, and its expected output. A command without output lines may print anything.
type Command struct {
	Line         int
	Script, Want string
}

// Commands returns the commands of a console block.
func Commands(b Block) []Command {
	var commands []Command
	continued := false
	for i, line := range strings.Split(strings.TrimRight(b.Text, "\n"), "\n") {
		script, isCommand := strings.CutPrefix(line, prompt)
		switch {
		case isCommand:
			commands = append(commands, Command{Line: b.Line + i, Script: script})
		case len(commands) == 0:
		case continued:
			commands[len(commands)-1].Script += "\n" + line
		default:
			commands[len(commands)-1].Want += line + "\n"
		}
		continued = (isCommand || continued) && strings.HasSuffix(line, `\`)
	}
	return commands
}

// Matches compares the output of a command with the expected output. White space at the end of lines is ignored, and
// several spaces are equal to one, because the width of columns varies. Values that differ in each run, such as times,
// durations and digests, match any value of the same kind.
func Matches(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(want) {
		line = squeeze(line)
		if line == ellipsis {
			pattern.WriteString(`(.*\n)*`)
			continue
		}
		parts := strings.Split(line, ellipsis)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, `.*`) + `\n`)
	}
	pattern.WriteString(`$`)
	expression, err := regexp.Compile(pattern.String())
	var squeezed strings.Builder
	for line := range strings.Lines(got) {
		squeezed.WriteString(squeeze(line) + "\n")
	}
	return err == nil && expression.MatchString(squeezed.String())
}

// alike are patterns of values that differ in each run, and their replacements.
var alike = []struct {
	expression  *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "<time>"},
	{regexp.MustCompile(`\b(\d+[dhms])+\b`), "<duration>"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "<digest>"},
}

func squeeze(line string) string {
	line = strings.TrimRight(line, " \t\r\n")
	for _, a := range alike {
		line = a.expression.ReplaceAllString(line, a.replacement)
	}
	return line
}
