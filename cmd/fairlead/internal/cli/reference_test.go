package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/reference"
)

func TestReferenceOfCommands(t *testing.T) {
	root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
	root.InitDefaultCompletionCmd()
	pages := map[string]string{"README.md": indexOf(root)}
	for _, command := range visible(root) {
		pages[command.Name()+".md"] = pageOf(command)
	}
	reference.CheckFolder(t, "fairlead", pages)
}

func visible(root *cobra.Command) []*cobra.Command {
	var commands []*cobra.Command
	for _, command := range root.Commands() {
		if !command.Hidden && command.Name() != "help" {
			commands = append(commands, command)
		}
	}
	return commands
}

// indexOf returns the page that lists all commands and their common flags.
func indexOf(root *cobra.Command) string {
	var rows [][]string
	for _, command := range visible(root) {
		rows = append(rows, []string{
			fmt.Sprintf("[`%s`](%s.md)", command.Name(), command.Name()),
			reference.Prose(command.Short),
		})
	}
	return "# Commands of fairlead\n\n[The command line](../../cli.md) explains them. `fairlead help COMMAND` shows " +
		"the same.\n\n" +
		reference.Table([]string{"command", "what it does"}, rows) +
		"\n## Flags of all commands\n\nThe flags for the connection to the cluster are the same as those of kubectl.\n\n" +
		flagsOf(root.PersistentFlags())
}

func pageOf(command *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# fairlead %s\n\n%s.\n", command.Name(), reference.Prose(strings.TrimSuffix(command.Short, ".")))
	if command.Runnable() {
		fmt.Fprintf(&out, "\n```text\n%s\n```\n", command.UseLine())
	}
	out.WriteString(textsOf(command))
	var rows [][]string
	for _, sub := range visible(command) {
		rows = append(rows, []string{reference.Code(sub.UseLine()), reference.Prose(sub.Short)})
	}
	if len(rows) > 0 {
		out.WriteString("\n" + reference.Table([]string{"command", "what it does"}, rows))
	}
	if command.NonInheritedFlags().HasAvailableFlags() {
		out.WriteString("\n## Flags\n\n" + flagsOf(command.NonInheritedFlags()))
	}
	for _, sub := range visible(command) {
		fmt.Fprintf(&out, "\n## %s\n%s", sub.CommandPath(), textsOf(sub))
		if sub.NonInheritedFlags().HasAvailableFlags() {
			out.WriteString("\n" + flagsOf(sub.NonInheritedFlags()))
		}
	}
	return out.String()
}

// textsOf returns the long description and the example of a command.
func textsOf(command *cobra.Command) string {
	var out strings.Builder
	for _, text := range []string{command.Long, command.Example} {
		if text = strings.TrimSpace(text); text != "" && text != command.Short {
			fmt.Fprintf(&out, "\n```text\n%s\n```\n", text)
		}
	}
	return out.String()
}

func flagsOf(flags *pflag.FlagSet) string {
	var rows [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		rows = append(rows, []string{reference.Code(name), reference.Code(defaultOf(f)), reference.Prose(usage)})
	})
	return reference.Table([]string{"flag", "default", "meaning"}, rows)
}

// defaultOf returns the default of a flag, or an empty text if it is empty or false. It replaces the default folder of
// the cache, which depends on the person who runs the program.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "[]", "false":
		return ""
	}
	if f.Name == "cache-dir" {
		return "$HOME/.kube/cache"
	}
	return f.DefValue
}
