package docs

import (
	"regexp"
	"strings"
)

// ellipsis stands for any text in a line; alone in a line it stands for any lines.
const ellipsis = "…"

// prompt begins a command in a console block. A line that ends in a backslash is continued by the next.
const prompt = "$ "

// Command is a command of a console block, and what it prints. Nothing is expected of one that is followed by another.
type Command struct {
	Line         int
	Script, Want string
}

// Commands takes a console block apart.
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

// Matches compares what a command printed with what the page says that it prints. White space at the end of lines does not count, and any
// number of spaces is one: columns are as wide as their longest word.
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

var spaces = regexp.MustCompile(` +`)

func squeeze(line string) string {
	return spaces.ReplaceAllString(strings.TrimRight(line, " \t\r\n"), " ")
}
