package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Page is a Markdown file.
type Page struct {
	// Path is the path relative to the project's root, with slashes.
	Path string
	// Directives are the words in comments such as <!-- docs: bare -->.
	Directives []string
	Blocks     []Block
	Links      []Link
	// Anchors are the anchors that GitHub generates for the headings.
	Anchors map[string]bool
	// Words is the number of words of the file, with its markup and without its comments.
	Words int
	// Passages are the paragraphs, items of lists and cells of tables.
	Passages []Passage
}

// Passage is a paragraph, the text of an item of a list, or a cell of a table.
type Passage struct {
	Line, Words int
	Cell        bool
}

// Block is a fenced block of code, or a comment that begins with an info string. Such a comment contains commands that
// the test needs and that would only distract readers.
type Block struct {
	// Line is the line of the page on which the text of the block begins.
	Line int
	// Language is the first word of the info string. It is empty if there is no info string.
	Language string
	// Words are the other words of the info string.
	Words []string
	Text  string
	// Reason is the reason why the block is not run, from a comment right before the block.
	Reason string
}

// Link is the destination of a link or an image.
type Link struct {
	Line        int
	Destination string
	// Image is set if the page shows the destination. Text is then the alternative text.
	Image bool
	Text  string
}

// directivePrefix is the prefix of comments that apply to the whole page.
const directivePrefix = "docs:"

// reasonPrefix is the prefix of comments with the reason why the next block is not run.
const reasonPrefix = noRun + ":"

// Has reports whether the page contains a directive.
func (p *Page) Has(directive string) bool { return slices.Contains(p.Directives, directive) }

// Pages reads the pages of the root, the README of the chart, those of the examples and of the laboratory, and all
// pages below docs/, in the order of their paths.
func Pages(root string) ([]*Page, error) {
	paths := []string{
		"ARCHITECTURE.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md",
		"config/chart/README.md", "examples/dns/README.md", "examples/schema/README.md", "test/lab/README.md",
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		return nil, err
	}
	pages := make([]*Page, 0, len(paths))
	for _, path := range paths {
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		page, err := Parse(path, source)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// comments matches the comments of a page, which readers do not see.
var comments = regexp.MustCompile(`(?s)<!--.*?-->`)

// Parse parses a page. Indented code is an error, because it cannot have an info string.
func Parse(path string, source []byte) (*Page, error) {
	p := &Page{Path: path, Anchors: map[string]bool{}, Words: len(bytes.Fields(comments.ReplaceAll(source, nil)))}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	r := reader{page: p, source: source}
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, r.visit(node)
	})
	return p, err
}

// reader collects the blocks, links and anchors of a document.
type reader struct {
	page   *Page
	source []byte
	// line is the line on which the block of the visited inline nodes begins.
	line int
	// reason is the reason for the next block. It is dropped if other content follows.
	reason string
}

func (r *reader) visit(node ast.Node) error {
	if node.Type() == ast.TypeBlock && node.Lines().Len() > 0 {
		r.line = r.lineOf(node.Lines().At(0).Start)
	}
	reason := r.reason
	if node.Type() == ast.TypeBlock {
		r.reason = ""
	}
	switch node := node.(type) {
	case *ast.Paragraph, *ast.TextBlock, *tables.TableCell:
		_, cell := node.(*tables.TableCell)
		words := len(bytes.Fields(node.Lines().Value(r.source)))
		r.page.Passages = append(r.page.Passages, Passage{Line: r.line, Words: words, Cell: cell})
	case *ast.FencedCodeBlock:
		r.fenced(node, reason)
	case *ast.CodeBlock:
		return fmt.Errorf("%s:%d: indented code; use a fenced block with an info string", r.page.Path, r.line)
	case *ast.HTMLBlock:
		r.comment(node)
	case *ast.Heading:
		r.heading(node)
	case *ast.Link:
		r.page.Links = append(r.page.Links, Link{Line: r.line, Destination: string(node.Destination)})
	case *ast.Image:
		r.page.Links = append(r.page.Links, Link{
			Line: r.line, Destination: string(node.Destination), Image: true, Text: plainText(node, r.source),
		})
	}
	return nil
}

func (r *reader) lineOf(offset int) int { return 1 + strings.Count(string(r.source[:offset]), "\n") }

func (r *reader) fenced(node *ast.FencedCodeBlock, reason string) {
	var info string
	line := r.line
	if node.Info != nil {
		info = string(node.Info.Segment.Value(r.source))
		line = r.lineOf(node.Info.Segment.Start) + 1
	}
	block := newBlock(line, info, string(node.Lines().Value(r.source)))
	block.Reason = reason
	r.page.Blocks = append(r.page.Blocks, block)
}

// comment stores comments that are directives or reasons, or that begin with a known language.
func (r *reader) comment(node *ast.HTMLBlock) {
	content := string(node.Lines().Value(r.source))
	if node.HasClosure() {
		content += string(node.ClosureLine.Value(r.source))
	}
	inner, opened := strings.CutPrefix(strings.TrimSpace(content), "<!--")
	inner, closed := strings.CutSuffix(inner, "-->")
	if !opened || !closed {
		return
	}
	if reason, found := strings.CutPrefix(strings.TrimSpace(inner), reasonPrefix); found {
		r.reason = strings.TrimSpace(reason)
		return
	}
	first, rest, _ := strings.Cut(inner, "\n")
	if words, found := strings.CutPrefix(strings.TrimSpace(first), directivePrefix); found {
		r.page.Directives = append(r.page.Directives, strings.Fields(words)...)
		return
	}
	block := newBlock(r.line+1, first, rest)
	if _, known := languages[block.Language]; known {
		r.page.Blocks = append(r.page.Blocks, block)
	}
}

func newBlock(line int, info, content string) Block {
	b := Block{Line: line, Text: content}
	if words := strings.Fields(info); len(words) > 0 {
		b.Language, b.Words = words[0], words[1:]
	}
	return b
}

// heading adds the anchor of a heading in the form that GitHub generates. The anchor of a second equal heading ends in
// -1.
func (r *reader) heading(node *ast.Heading) {
	anchor := Anchor(plainText(node, r.source))
	unique := anchor
	for i := 1; r.page.Anchors[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", anchor, i)
	}
	r.page.Anchors[unique] = true
}

func plainText(node ast.Node, source []byte) string {
	var out strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			out.Write(t.Segment.Value(source))
			continue
		}
		out.WriteString(plainText(child, source))
	}
	return out.String()
}
