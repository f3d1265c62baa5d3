package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// columns is the width of lines. A tab counts as one column, as for the linter lll.
const columns = 120

// longLines finds lines that are too wide, in all modules of the checkout: in Go code, in Go tests, and in the prose of
// Markdown pages.
func (c *code) longLines(dir string) ([]measure, error) {
	var program, tests, prose []place
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && leftOut(entry.Name()):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		into, wide := &program, wideInGo
		switch {
		case strings.HasSuffix(name, "_test.go"):
			into = &tests
		case strings.HasSuffix(name, ".md"):
			into, wide = &prose, wideInMarkdown
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			if count := wide(string(content)); count > 0 {
				*into = append(*into, place{count, "in " + filepath.ToSlash(name)})
			}
		}
		return err
	})
	over := "lines over " + strconv.Itoa(columns) + " columns: "
	return []measure{
		{name: over + "Go", summary: sum(program), places: program, goal: "0"},
		{name: over + "Go tests", summary: sum(tests), places: tests, goal: "0"},
		{name: over + "Markdown prose", summary: sum(prose), places: prose, goal: "0"},
	}, err
}

func sum(places []place) string {
	total := 0
	for _, p := range places {
		total += p.value
	}
	return strconv.Itoa(total)
}

func isWide(line string) bool { return utf8.RuneCountInString(line) > columns }

// wideInGo counts the wide lines of a file that is not generated.
func wideInGo(content string) int {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.PackageClauseOnly|parser.ParseComments)
	if err == nil && ast.IsGenerated(file) {
		return 0
	}
	count := 0
	for line := range strings.Lines(content) {
		if isWide(strings.TrimRight(line, "\r\n")) {
			count++
		}
	}
	return count
}

// link is a link of Markdown, and marks are the characters around links in a line that has nothing else.
const (
	link  = `!?\[[^\]]*\]\([^)]*\)|!?\[[^\]]*\]\[[^\]]*\]|<?https?://\S+`
	marks = `[\s\-*>|,.;:()]*`
)

var (
	// generatedPage is in the first line of a page that is not written by hand.
	generatedPage = regexp.MustCompile(`(?i)^<!--.*(made from|generated)`)
	// fence begins or ends a block of code.
	fence = regexp.MustCompile("^ *(> ?)*(```+|~~~+)")
	// links is a line that has nothing but links, list marks and punctuation, and the definition of a link.
	links = regexp.MustCompile(`^` + marks + `((` + link + `)` + marks + `)+$|^ *\[[^\]]*\]: `)
)

// wideInMarkdown counts the wide lines of prose. Tables, blocks of code, comments of several lines, which hold commands
// for a test, and lines of nothing but links are left out.
func wideInMarkdown(content string) int {
	count, closing := 0, ""
	for i, line := range strings.Split(content, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case i == 0 && generatedPage.MatchString(text):
			return 0
		case closing != "":
			if strings.HasPrefix(strings.TrimLeft(text, "> "), closing) || closing == "-->" && strings.Contains(text, closing) {
				closing = ""
			}
		case fence.MatchString(line):
			closing = fence.FindStringSubmatch(line)[2]
		case strings.HasPrefix(text, "<!--") && !strings.Contains(text, "-->"):
			closing = "-->"
		case strings.HasPrefix(text, "|"), links.MatchString(line):
		case isWide(line):
			count++
		}
	}
	return count
}
