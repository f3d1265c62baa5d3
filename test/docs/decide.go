package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is what is done with a block.
type Action string

// The actions.
const (
	ActionRun       Action = "run"       // by bash, which must succeed
	ActionFail      Action = "fail"      // by bash, whose last command must fail
	ActionSyntax    Action = "syntax"    // read by bash, and not run
	ActionCompare   Action = "compare"   // commands after "$ ", and what they print
	ActionAwait     Action = "await"     // the same, again and again until they print it
	ActionApply     Action = "apply"     // to the cluster
	ActionDryRun    Action = "dry-run"   // sent to the cluster, which checks it strictly and keeps nothing
	ActionComponent Action = "component" // a part of a Component, completed and sent as a dry run
	ActionParse     Action = "parse"
	ActionCompile   Action = "compile"
	ActionWrite     Action = "write" // to a file of the page's folder
	ActionShow      Action = "show"  // nothing is done
)

// noRun is the word for what a test cannot do. It takes a reason.
const noRun = "norun"

// filePrefix begins the word that names a file; it goes with every language.
const filePrefix = "file="

// languages says what the words after a language mean; the empty one stands for none.
var languages = map[string]map[string]Action{
	"sh":      {"": ActionRun, "fails": ActionFail, noRun: ActionSyntax},
	"console": {"": ActionCompare, "eventually": ActionAwait, "fails": ActionCompare, noRun: ActionShow},
	"yaml":    {"": ActionDryRun, "apply": ActionApply, "component": ActionComponent, "fragment": ActionParse},
	"json":    {"": ActionParse},
	"go":      {"": ActionCompile},
	"text":    {"": ActionShow},
	"mermaid": {"": ActionShow},
}

// Decide tells what is done with the block. It is an error where its info string leaves that open.
func (b Block) Decide() (Action, error) {
	if b.Language == "" {
		return "", fmt.Errorf("no info string; say %s: see CONTRIBUTING.md", alternatives(languages))
	}
	words, known := languages[b.Language]
	if !known {
		return "", fmt.Errorf("info string %q; say %s: see CONTRIBUTING.md", b.Language, alternatives(languages))
	}
	if len(b.Words) > 1 {
		return "", fmt.Errorf("%q after %s; one word is enough", strings.Join(b.Words, " "), b.Language)
	}
	word := strings.Join(b.Words, "")
	if _, found := strings.CutPrefix(word, filePrefix); found {
		return ActionWrite, nil
	}
	action, known := words[word]
	switch {
	case !known:
		return "", fmt.Errorf("%q after %s; say %s, or %sPATH: see CONTRIBUTING.md", word, b.Language, alternatives(words), filePrefix)
	case word == noRun && b.Reason == "":
		return "", fmt.Errorf("nothing says why it is not run; put <!-- %s why --> right before it: see CONTRIBUTING.md", reasonPrefix)
	case word != noRun && b.Reason != "":
		return "", fmt.Errorf("a reason not to run it, and no %s", noRun)
	}
	return action, nil
}

// File is where a block goes whose action is to be written.
func (b Block) File() string {
	return strings.TrimPrefix(strings.Join(b.Words, ""), filePrefix)
}

// Fails tells of a block whose commands are to fail.
func (b Block) Fails() bool { return slices.Contains(b.Words, "fails") }

func alternatives[V any](options map[string]V) string {
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(options)), func(name string) bool { return name == "" })
	if len(named) < len(options) {
		named = append(named, "nothing")
	}
	return strings.Join(named, ", ")
}
