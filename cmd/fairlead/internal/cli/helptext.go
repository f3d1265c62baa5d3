package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/version"
)

// helpWidth is the number of columns of help texts.
const helpWidth = 80

// commandGroup is a group of commands in the help.
type commandGroup struct {
	id, title string
	commands  []string
}

var commandGroups = []commandGroup{
	{"change", "Change components:", []string{"apply", "delete", "suspend", "resume", "reconcile", "external"}},
	{"check", "Before a change:", []string{"plan", "diff", "render", "rbac"}},
	{"show", "Look at components:", []string{
		"list", "status", "tree", "why", "notes", "history", "events", "logs", "test", "export",
	}},
	{"operator", "Write an operator:", []string{"scaffold"}},
	{"other", "Other commands:", []string{"completion", "help", "options", "version"}},
}

// examples has examples of commands that have none beside their flags.
var examples = map[string]string{
	"apply": `  fairlead apply shop ./chart --wait
  fairlead apply shop ./chart -f values.yaml --set image.tag=v2`,
	"delete": `  fairlead plan shop --delete
  fairlead delete shop --wait`,
	"suspend":   `  fairlead suspend shop --wait`,
	"resume":    `  fairlead resume shop --wait`,
	"reconcile": `  fairlead reconcile shop --wait`,
	"external": `  fairlead external list shop
  fairlead external resolve shop Bucket/photos --id b-17`,
	"plan": `  fairlead plan shop ./chart --set replicas=3
  fairlead plan shop --delete`,
	"diff": `  fairlead diff shop
  fairlead diff shop ./chart -f values.yaml`,
	"render": `  fairlead render ./chart --set replicas=3
  fairlead render ./chart --raw --include-crds`,
	"rbac":    `  fairlead rbac shop --dir ./chart --bind`,
	"list":    `  fairlead list --all-namespaces`,
	"status":  `  fairlead status shop --watch`,
	"tree":    `  fairlead tree shop`,
	"why":     `  fairlead why deployment/web`,
	"notes":   `  fairlead notes shop`,
	"history": `  fairlead history shop`,
	"events":  `  fairlead events shop --watch`,
	"export":  `  fairlead export shop > shop.yaml`,
	"options": `  fairlead options`,
	"version": `  fairlead version
  fairlead version --client`,
}

// similar contains the names of commands of kubectl and Helm, by the command of fairlead that does the same.
var similar = map[string][]string{
	"list": {"get", "ls"}, "status": {"get", "describe"}, "apply": {"install", "upgrade", "rollback"},
	"render": {"template"}, "delete": {"uninstall", "remove"}, "history": {"rollback"},
}

// usage is cobra's usage without the flags of all commands, which the command options prints.
const usage = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{if .Groups}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{else}}

Commands:{{range $commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasHelpSubCommands}}

Topics:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .LocalNonPersistentFlags.HasAvailableFlags}}

Flags:
{{.LocalNonPersistentFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}

"{{.Root.CommandPath}} options" prints the flags of all commands, such as those for the
connection to the cluster.
`

// addHelp adds groups, examples, other names and the flag --version to the commands of the program, and lets them print
// help in helpWidth columns.
func addHelp(root *cobra.Command) {
	groups := map[string]string{}
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, name := range group.commands {
			groups[name] = group.id
		}
	}
	for _, command := range root.Commands() {
		name := command.Name()
		command.GroupID, command.SuggestFor = groups[name], similar[name]
		if command.Example == "" {
			command.Example = examples[name]
		}
	}
	root.SetHelpCommandGroupID(groups["help"])
	root.SetCompletionCommandGroupID(groups["completion"])
	root.Version = version.Version
	root.SetVersionTemplate("{{.Version}}\n")
	// Without this flag cobra would add one with the short form -v.
	root.Flags().Bool("version", false, "print the version of this program")
	root.SetUsageTemplate(usage)
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		text := command.Long
		if text == "" {
			text = command.Short
		}
		_, _ = fmt.Fprint(command.OutOrStdout(), wrapped(text, helpWidth)+"\n\n")
		if command.Runnable() || command.HasSubCommands() {
			_, _ = fmt.Fprint(command.OutOrStdout(), command.UsageString())
		}
	})
}

// wrapped wraps the paragraphs of a text. Paragraphs with indented lines stay as they are.
func wrapped(text string, width int) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, paragraph := range paragraphs {
		if !strings.HasPrefix(paragraph, " ") && !strings.Contains(paragraph, "\n ") {
			paragraphs[i] = wrappedParagraph(paragraph, width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func wrappedParagraph(paragraph string, width int) string {
	var text strings.Builder
	column := 0
	for word := range strings.FieldsSeq(paragraph) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			text.WriteByte('\n')
			column = 0
		default:
			text.WriteByte(' ')
			column++
		}
		text.WriteString(word)
		column += len(word)
	}
	return text.String()
}
