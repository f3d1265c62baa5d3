package github_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/github"
)

// root is the path of the project's root.
const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// targets returns the targets of the Makefile that make help shows.
func targets(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		found[match[1]] = true
	}
	return found
}

func TestWorkflowsObeyTheRules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range github.Check(content, targets(t)) {
			t.Errorf("%s: %s", filepath.Base(file), problem)
		}
	}
}

// The workflow of changes has the steps of .ci/run. It runs them at the same time.
func TestChangesAreCheckedAsByCI(t *testing.T) {
	match := regexp.MustCompile(`(?m)^make ([a-z -]+)`).FindStringSubmatch(read(t, ".ci/run"))
	if match == nil {
		t.Fatal(".ci/run calls no make")
	}
	workflow := read(t, ".github/workflows/ci.yaml")
	for target := range strings.FieldsSeq(match[1]) {
		if !strings.Contains(workflow, "{target: "+target+",") {
			t.Errorf("ci.yaml does not run make %s, which .ci/run does", target)
		}
	}
}

const workflow = `
on: [push]
permissions: {}
concurrency: {group: all}
jobs:
  check:
    strategy: {matrix: {include: [{target: lint}, {target: verify}]}}
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions: {contents: read}
    steps:
    - uses: actions/checkout@0123456789012345678901234567890123456789 # v1.2.3
      with: {persist-credentials: false}
    - run: make ${{ matrix.target }}
`

func TestCheckFindsBrokenRules(t *testing.T) {
	known := map[string]bool{"lint": true, "verify": true}
	if problems := github.Check([]byte(workflow), known); len(problems) > 0 {
		t.Fatalf("the workflow obeys the rules, got %q", problems)
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"permissions of the whole workflow": {
			"permissions: {}\n", "permissions: {contents: read}\n",
			"must have permissions: {}",
		},
		"no permissions":               {"permissions: {}\n", "", "must have permissions: {}"},
		"no concurrency":               {"concurrency: {group: all}\n", "", "no concurrency"},
		"a tag":                        {"@0123456789012345678901234567890123456789", "@v1", "digest of a commit"},
		"no tag in a comment":          {" # v1.2.3", "", "tag in a comment"},
		"a runner that changes":        {"ubuntu-24.04", "ubuntu-latest", "fixed version"},
		"no time-out":                  {"    timeout-minutes: 5\n", "", "timeout-minutes"},
		"a job without permissions":    {"    permissions: {contents: read}\n", "", "permissions are missing"},
		"a permission to write":        {"{contents: read}", "{contents: write}", "more than read"},
		"a token in the checkout":      {"{persist-credentials: false}", "{}", "must not keep the token"},
		"a command that is not make":   {"make ${{ matrix.target }}", "go test ./...", "want make"},
		"a target that does not exist": {"{target: verify}", "{target: verity}", "no target verity"},
		"code of strangers":            {"[push]", "[pull_request_target]", "strangers"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(workflow, test.before) {
				t.Fatalf("the workflow does not contain %q", test.before)
			}
			problems := github.Check([]byte(strings.Replace(workflow, test.before, test.after, 1)), known)
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("want %q, got %q", test.want, problems)
			}
		})
	}
}
