package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/internal/yamltext"
)

// document is a document of a YAML stream.
type document struct {
	// line is the number of the line in the stream where text begins, from 1.
	line int
	text []byte
}

// splitDocuments returns the documents of a YAML stream, which it splits at the document markers. Documents without
// content are omitted.
//
// A marker is a line that begins with --- or ... . Text after --- on the same line belongs to the new document, even
// without a space: templates that trim too much white space produce such lines, and Helm accepts them. YAML allows no
// marker inside a quoted or block scalar, so splitting by lines is exact. A line that begins with more than three
// dashes is no marker.
func splitDocuments(data []byte) iter.Seq[document] {
	return func(yield func(document) bool) { yieldDocuments(data, yield) }
}

func yieldDocuments(data []byte, yield func(document) bool) {
	current := document{line: 1}
	// finish returns false if no more documents are wanted.
	finish := func(next int) bool {
		finished := current
		current = document{line: next}
		return !finished.hasContent() || yield(finished)
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		// Files with a mark may be joined, or follow a marker.
		if unmarked := yamltext.TrimMark(line); len(unmarked) < len(line) &&
			(!current.hasContent() || bytes.HasPrefix(unmarked, []byte("---"))) {
			line = unmarked
		}
		rest, starts := bytes.CutPrefix(line, []byte("---"))
		switch {
		case starts && !bytes.HasPrefix(rest, []byte("-")):
			if !finish(number) {
				return
			}
			current.text = append(current.text, bytes.TrimLeft(rest, " \t")...)
		case isEndMarker(line):
			if !finish(number + 1) {
				return
			}
		default:
			current.text = append(current.text, line...)
		}
	}
	finish(0)
}

func isEndMarker(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("..."))
	return found && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// hasContent reports whether the document contains more than white space, comments and directives.
func (d document) hasContent() bool { return d.firstLine() != 0 }

// firstLine returns the line in the stream where the content begins, or 0 if there is no content.
func (d document) firstLine() int {
	number := d.line
	for line := range bytes.Lines(d.text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return number
		}
		number++
	}
	return 0
}

// value is a parsed document, or a value of a document that is a sequence of JSON values.
type value struct {
	line int
	data any
}

// parse returns the values of the document, and a FileError for each key that occurs twice. The returned errors have no
// file name.
func (d document) parse() (values []value, duplicates []*FileError, syntax *FileError) {
	if values, duplicates, ok := d.parseJSON(); ok {
		return values, duplicates, nil
	}
	asJSON, twice, err := yamltext.ToJSON(d.text)
	if err != nil {
		return nil, nil, d.syntaxError(err)
	}
	v := value{line: d.firstLine()}
	if err := utiljson.Unmarshal(asJSON, &v.data); err != nil {
		return nil, nil, &FileError{Line: v.line, Err: err}
	}
	for _, found := range twice {
		duplicates = append(duplicates, &FileError{Line: d.line + found.Line - 1, Err: errors.New(found.String())})
	}
	return []value{v}, duplicates, nil
}

// parseJSON decodes a sequence of JSON objects. It is faster than the YAML parser, which does not accept such a
// sequence.
func (d document) parseJSON() (values []value, duplicates []*FileError, ok bool) {
	if trimmed := bytes.TrimSpace(d.text); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(d.text))
	for {
		start := int(decoder.InputOffset())
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return values, duplicates, true
		} else if err != nil {
			return nil, nil, false
		}
		start += bytes.IndexByte(d.text[start:], raw[0])
		v := value{line: d.line + bytes.Count(d.text[:start], []byte("\n"))}
		data, twice, err := yamltext.FromJSON(raw)
		if err != nil {
			return nil, nil, false
		}
		v.data = data
		for _, found := range twice {
			duplicates = append(duplicates, &FileError{Line: v.line, Err: errors.New(found.String())})
		}
		values = append(values, v)
	}
}

var lineInMessage = regexp.MustCompile(`line (\d+): `)

// syntaxError converts an error of the YAML parser to a FileError.
func (d document) syntaxError(err error) *FileError {
	message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	line, message := d.place(message)
	return &FileError{Line: line, Err: fmt.Errorf("invalid YAML: %s", message), Excerpt: d.excerpt(line)}
}

// excerpt returns a line of the stream with its neighbours, each with its number.
func (d document) excerpt(line int) []string {
	var lines []string
	number := d.line
	for text := range bytes.Lines(d.text) {
		if number >= line-1 && number <= line+1 {
			lines = append(lines, fmt.Sprintf("%d: %s", number, bytes.TrimRight(text, "\r\n")))
		}
		number++
	}
	return lines
}

// place splits a message of the parser that begins with a line number. It returns the line number in the stream, and
// the rest of the message.
func (d document) place(message string) (int, string) {
	if found := lineInMessage.FindStringSubmatchIndex(message); found != nil && found[0] == 0 {
		if n, err := strconv.Atoi(message[found[2]:found[3]]); err == nil {
			return d.line + n - 1, message[found[1]:]
		}
	}
	return d.firstLine(), message
}
