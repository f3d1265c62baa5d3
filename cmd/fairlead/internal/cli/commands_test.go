package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cli/command"
)

// TestCommandsOfMessagesParse checks the commands that messages contain as a whole: the program accepts their
// arguments.
func TestCommandsOfMessagesParse(t *testing.T) {
	for _, line := range []string{
		"fairlead delete -n shop web --accept-unknown demo.example.com",
		"fairlead delete -n shop shops.example.com/web --accept-unknown *.example.com",
		"fairlead external resolve -n shop web Schema/orders --id ID",
		"fairlead external resolve -n shop web Schema/orders --absent",
		"fairlead external list -n shop web",
		"fairlead resume -n shop web",
		"fairlead status -n shop web",
		"fairlead plan -n shop web",
		"fairlead rbac NAME --dir DIR --namespace NAMESPACE --observe identity --bind",
		"fairlead apply NAME DIR",
	} {
		root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
		command, arguments, err := root.Find(strings.Fields(line)[1:])
		if err == nil {
			err = command.ParseFlags(arguments)
		}
		if err == nil {
			err = command.ValidateArgs(command.Flags().Args())
		}
		if err != nil || !command.Runnable() {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// mention matches the mention of a command in a message.
var mention = regexp.MustCompile(`\bfairlead ([a-z]+)((?: [^\s;,:"()]+)*)`)

// noCommands are the words after the name of the program that name no command.
var noCommands = map[string]bool{"of": true}

// TestMessagesNameCommandsThatExist reads the texts in the sources, and checks the commands and flags that they mention.
func TestMessagesNameCommandsThatExist(t *testing.T) {
	found := 0
	for _, folder := range []string{"api", "cmd", "internal", "pkg"} {
		for position, text := range textsBelow(t, filepath.Join("..", "..", "..", "..", folder)) {
			for _, match := range mention.FindAllStringSubmatch(text, -1) {
				found++
				words, _, _ := strings.Cut(match[2], ". ")
				if problem := problemOf(match[1], strings.Fields(words)); problem != "" {
					t.Errorf("%s: %q %s", position, match[0], problem)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d mentions of commands were found", found)
	}
}

// problemOf returns a text about a command or a flag that does not exist; empty if there is no such problem.
func problemOf(name string, words []string) string {
	root := newRoot(command.New(genericiooptions.IOStreams{}), "fairlead")
	command, rest, err := root.Find(append([]string{name}, words...))
	switch {
	case noCommands[name]:
		return ""
	case err != nil || command == root:
		return "names no command"
	}
	for _, word := range rest {
		flag, _, _ := strings.Cut(strings.TrimRight(word, ".'`"), "=")
		if strings.HasPrefix(flag, "-") && !hasFlag(command, flag) {
			return "has no flag " + flag
		}
	}
	return ""
}

func hasFlag(command *cobra.Command, flag string) bool {
	if name, long := strings.CutPrefix(flag, "--"); long {
		return command.Flag(name) != nil
	}
	name := strings.TrimPrefix(flag, "-")
	return command.Flags().ShorthandLookup(name) != nil || command.InheritedFlags().ShorthandLookup(name) != nil
}

// textsBelow returns the texts in the sources below a folder, by their positions. A text that is joined from several
// literals is one text, in which … stands for values.
func textsBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "template"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			expression, isExpression := node.(ast.Expr)
			if !isExpression {
				return true
			}
			text, isText := sourceText(expression)
			if isText {
				texts[files.Position(expression.Pos()).String()] = text
			}
			return !isText
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func sourceText(expression ast.Expr) (text string, isText bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := sourceText(e.X)
		right, isRight := sourceText(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "…", false
}
