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

// columns is the maximum width of lines. A tab counts as one column, as for the linter lll.
const columns = 120

// marker begins a marker of controller-gen, which must be on one line.
const marker = "// +"

// longLines finds lines that are longer than columns, in all modules of the checkout: in Go code, in Go tests, and in
// the prose of Markdown pages.
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

// wideInGo counts the long lines of a Go file. It returns 0 for a generated file.
func wideInGo(content string) int {
	file, err := parser.ParseFile(token.NewFileSet(), "", content, parser.PackageClauseOnly|parser.ParseComments)
	if err == nil && ast.IsGenerated(file) {
		return 0
	}
	count := 0
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\r\n")
		if isWide(line) && !strings.HasPrefix(strings.TrimSpace(line), marker) {
			count++
		}
	}
	return count
}

// link matches a link in Markdown. marks are the other characters in a line that contains only links.
const (
	link  = `!?\[[^\]]*\]\([^)]*\)|!?\[[^\]]*\]\[[^\]]*\]|<?https?://\S+`
	marks = `[\s\-*>|,.;:()]*`
)

var (
	// generatedPage matches the first line of a generated page.
	generatedPage = regexp.MustCompile(`(?i)^<!--.*(made from|generated)`)
	// fence matches the first or last line of a block of code.
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
