package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is the test of a block.
type Action string

// The actions.
const (
	ActionRun       Action = "run"       // run by bash, which must succeed
	ActionFail      Action = "fail"      // run by bash; the last command must fail
	ActionSyntax    Action = "syntax"    // parsed by bash, and not run
	ActionCompare   Action = "compare"   // commands after "$ " are run, and their output is compared
	ActionAwait     Action = "await"     // like ActionCompare, repeated until the output is equal
	ActionApply     Action = "apply"     // applied to the cluster
	ActionDryRun    Action = "dry-run"   // sent to the cluster as a dry run with strict validation
	ActionComponent Action = "component" // completed to a whole Component and sent as a dry run
	ActionParse     Action = "parse"
	ActionCompile   Action = "compile"
	ActionWrite     Action = "write" // written to a file in the page's folder
	ActionShow      Action = "show"  // not tested
)

// noRun is the word that excludes a block from the tests. It needs a reason.
const noRun = "norun"

// filePrefix is the prefix of the word that names a file. The word can follow every language.
const filePrefix = "file="

// languages maps each language and the word after it to an action. The empty word stands for no word.
var languages = map[string]map[string]Action{
	"sh":      {"": ActionRun, "fails": ActionFail, noRun: ActionSyntax},
	"console": {"": ActionCompare, "eventually": ActionAwait, "fails": ActionCompare, noRun: ActionShow},
	"yaml":    {"": ActionDryRun, "apply": ActionApply, "component": ActionComponent, "fragment": ActionParse},
	"json":    {"": ActionParse},
	"go":      {"": ActionCompile},
	"text":    {"": ActionShow},
	"mermaid": {"": ActionShow},
}

// Decide returns the action for the block. It returns an error if the info string is unknown or incomplete.
func (b Block) Decide() (Action, error) {
	if b.Language == "" {
		return "", fmt.Errorf("no info string; write %s: see CONTRIBUTING.md", alternatives(languages))
	}
	words, known := languages[b.Language]
	if !known {
		return "", fmt.Errorf("unknown info string %q; write %s: see CONTRIBUTING.md", b.Language, alternatives(languages))
	}
	if len(b.Words) > 1 {
		return "", fmt.Errorf("%q after %s: only one word is allowed", strings.Join(b.Words, " "), b.Language)
	}
	word := strings.Join(b.Words, "")
	if _, found := strings.CutPrefix(word, filePrefix); found {
		return ActionWrite, nil
	}
	action, known := words[word]
	switch {
	case !known:
		return "", fmt.Errorf(
			"%q after %s; write %s, or %sPATH: see CONTRIBUTING.md",
			word,
			b.Language,
			alternatives(words),
			filePrefix,
		)
	case word == noRun && b.Reason == "":
		return "", fmt.Errorf(
			"the reason for norun is missing; put <!-- %s reason --> right before the block: see CONTRIBUTING.md",
			reasonPrefix,
		)
	case word != noRun && b.Reason != "":
		return "", fmt.Errorf("the block has a reason for %[1]s, but not the word %[1]s", noRun)
	}
	return action, nil
}

// File returns the path of the file for a block with the action ActionWrite.
func (b Block) File() string {
	return strings.TrimPrefix(strings.Join(b.Words, ""), filePrefix)
}

// Fails reports whether the commands of the block must fail.
func (b Block) Fails() bool { return slices.Contains(b.Words, "fails") }

func alternatives[V any](options map[string]V) string {
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(options)), func(name string) bool { return name == "" })
	if len(named) < len(options) {
		named = append(named, "nothing")
	}
	return strings.Join(named, ", ")
}
