package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// command matches a call of our programs in a line of code or between backticks, up to a pipe.
	command = regexp.MustCompile("(?:^|[`$] ?|kubectl )(fairlead(?:-operator)? [^`|&;>]*)")
	option  = regexp.MustCompile(`(?:^|[ \[(])(--[a-z][a-z-]*)`)
	// listed matches every flag. It is used for pages that name only flags of our programs.
	listed = regexp.MustCompile(`--[a-z][a-z-]*`)
)

// flagsOf returns the flags of our programs on a page, with their line numbers.
func flagsOf(text string) map[string]int {
	flags := map[string]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		for _, call := range command.FindAllStringSubmatch(line, -1) {
			for _, flag := range option.FindAllStringSubmatch(call[1], -1) {
				flags[flag[1]] = number
			}
		}
	}
	return flags
}

// The reference pages are generated from the code, so a flag that they do not list does not exist.
func TestFlagsAreInTheReference(t *testing.T) {
	known := map[string]bool{"--help": true}
	pages := readPages(t)
	texts := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page.Path))
		if err != nil {
			t.Fatal(err)
		}
		texts[page.Path] = string(text)
		if strings.HasPrefix(page.Path, "docs/reference/fairlead") {
			for _, flag := range listed.FindAllString(string(text), -1) {
				known[flag] = true
			}
		}
	}
	for _, page := range pages {
		for flag, line := range flagsOf(texts[page.Path]) {
			if !known[flag] {
				t.Errorf("%s:%d: no command has the flag %s", page.Path, line, flag)
			}
		}
	}
}

func TestFlagsOfFindsThoseOfOurPrograms(t *testing.T) {
	got := flagsOf("`fairlead apply NAME --wait` and `helm install --create-namespace`\n" +
		"$ fairlead rbac x --bind | kubectl apply --server-side\n" +
		"kubectl fairlead tree x [--colour]\nfairlead-operator --leader-elect &\n")
	for flag, line := range map[string]int{"--wait": 1, "--bind": 2, "--colour": 3, "--leader-elect": 4} {
		if got[flag] != line {
			t.Errorf("%s: want line %d, got %d", flag, line, got[flag])
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
}
