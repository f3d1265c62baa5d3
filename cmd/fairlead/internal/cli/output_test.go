package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
)

// inCode matches a text between backquotes.
var inCode = regexp.MustCompile("`([^`]+)`")

// documented returns the formats of each command, as docs/cli.md documents them.
func documented(t *testing.T) map[string][]show.Format {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "| `-o` | output | commands |\n")
	if !found {
		t.Fatal("docs/cli.md has no table of output formats")
	}
	formats := map[string][]show.Format{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(line, "|")
		for _, command := range inCode.FindAllStringSubmatch(cells[3], -1) {
			for _, format := range inCode.FindAllStringSubmatch(cells[1], -1) {
				formats[command[1]] = append(formats[command[1]], show.Format(format[1]))
			}
		}
	}
	return formats
}

func TestFormatsAreThoseOfTheDocumentation(t *testing.T) {
	root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
	want, got := map[string]string{}, map[string]string{}
	for command, formats := range documented(t) {
		want[command] = show.Names(formats) + "; a table by default"
	}
	for _, command := range root.Commands() {
		flag := command.Flags().Lookup("output")
		if flag == nil || command.Name() == "export" {
			continue
		}
		got[command.Name()] = flag.Usage
		complete, ok := command.GetFlagCompletionFunc("output")
		if !ok {
			t.Errorf("the command %s has no completion for the flag -o", command.Name())
			continue
		}
		offered, _ := complete(command, nil, "")
		names := strings.NewReplacer(",", "", " or", "").Replace(strings.TrimSuffix(flag.Usage, "; a table by default"))
		if all := strings.Join(offered, " "); all != names {
			t.Errorf("%s: the completions of -o are %s, but the help of the flag has %s", command.Name(), all, flag.Usage)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the output formats in docs/cli.md (-) differ from those of the flags (+):\n%s", diff)
	}
}
