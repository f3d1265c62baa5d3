package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
	"github.com/fairlead-io/fairlead/internal/version"
)

// TestHelpFitsATerminal checks the help of each command: 80 columns, an example, a group, and no flag for the connection.
func TestHelpFitsATerminal(t *testing.T) {
	root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
	var check func(command *cobra.Command)
	check = func(command *cobra.Command) {
		var out bytes.Buffer
		command.SetOut(&out)
		if err := command.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); len(line) > helpWidth || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %d columns: %q", command.CommandPath(), len(line), line)
			}
		}
		if strings.Contains(out.String(), "--kubeconfig") {
			t.Errorf("%s has the flags of all commands", command.CommandPath())
		}
		topLevel := command.Parent() == root && command.Runnable() && !command.Hidden
		if topLevel && command.GroupID == "" {
			t.Errorf("%s is in no group", command.CommandPath())
		}
		if topLevel && command.Name() != "help" && command.Name() != "completion" && !command.HasExample() {
			t.Errorf("%s has no example", command.CommandPath())
		}
		for _, sub := range command.Commands() {
			if command.Name() != "completion" {
				check(sub)
			}
		}
	}
	check(root)
}

func TestOptionsPrintsTheFlagsOfAllCommands(t *testing.T) {
	var out bytes.Buffer
	root := newRoot(command.New(genericiooptions.IOStreams{Out: &out}), "fairlead")
	root.SetOut(&out)
	root.SetArgs([]string{"options"})
	if err := root.Execute(); err != nil || !strings.Contains(out.String(), "--kubeconfig") {
		t.Errorf("got %v, %s", err, &out)
	}
}

func TestVersionIsAlsoAFlag(t *testing.T) {
	var out bytes.Buffer
	base := command.New(genericiooptions.IOStreams{Out: &out, ErrOut: &out})
	root := newRoot(base, "fairlead")
	root.SetOut(base.Console.Out)
	root.SetArgs([]string{"--version"})
	if err := root.Execute(); err != nil || out.String() != version.Version+"\n" {
		t.Errorf("got %v, %q", err, &out)
	}
}

func TestVersionsThatAreFarApartAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		program, operator string
		apart             bool
	}{
		{"v1.2.3", "v1.2.9", false},
		{"v1.2.3", "v1.3.0", false},
		{"v1.3.0", "v1.2.3", false},
		{"v1.2.3", "v1.4.0", true},
		{"v1.4.0-rc.1", "v1.2.3", true},
		{"v0.9.0", "v1.9.0", true},
		{"dev", "v1.4.0", false},
		{"v1.4.0", "unknown", false},
		{"v1.4.0", "", false},
	} {
		if err := checkSkew(c.program, c.operator); (err != nil) != c.apart {
			t.Errorf("%s and %s: got %v", c.program, c.operator, err)
		}
	}
}

func TestCommandsOfOtherProgramsAreSuggested(t *testing.T) {
	for name, want := range map[string]string{
		"get": "list", "describe": "status", "install": "apply", "upgrade": "apply", "template": "render",
		"rollback": "apply", "uninstall": "delete",
	} {
		root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
		root.SetArgs([]string{name, "shop"})
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "\n\t"+want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
