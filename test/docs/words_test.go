package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// replaced are words that have another word in pages and messages, with that word.
var replaced = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\bcontested\b`):                       "repair conflict",
	regexp.MustCompile(`\bContended\b`):                           "ChangedMeanwhile",
	regexp.MustCompile(`(?i)\banew\b`):                            "again",
	regexp.MustCompile(`(?i)\bformer(ly)?\b`):                     "previous",
	regexp.MustCompile(`(?i)\bof yours\b`):                        "your, before the noun",
	regexp.MustCompile(`(?i)\b(is|are|was|were|be|until) gone\b`): "deleted, or does not exist",
}

func wrongWords(t *testing.T, place, text string) {
	t.Helper()
	for word, right := range replaced {
		if found := word.FindString(text); found != "" {
			t.Errorf("%s: %q; write %q", place, found, right)
		}
	}
}

// The page about upgrades has the old names, and so does the reference of conditions for one of them.
func TestPagesUseTheWordsOfTheProject(t *testing.T) {
	for _, page := range readPages(t) {
		if page.Path == "docs/upgrading.md" || strings.HasPrefix(page.Path, "docs/adr/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, page.Path))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "| `Contested` |") {
				wrongWords(t, fmt.Sprintf("%s:%d", page.Path, n+1), line)
			}
		}
	}
}

func TestMessagesUseTheWordsOfTheProject(t *testing.T) {
	for _, folder := range []string{"api", "cmd", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Contains(text.Value, " ") {
					wrongWords(t, files.Position(text.Pos()).String(), text.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
