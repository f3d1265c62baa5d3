package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// longestPause is the longest time between two lines, in seconds. A recording is about the steps, not about waiting.
// shortestPause is the least time that a line takes, so that it can be read.
const longestPause, shortestPause = 1.5, 0.12

// recording is an asciicast, line by line.
type recording struct {
	title         string
	width, height int
	lines         []line
}

// line is a line of the terminal.
type line struct {
	// at is the time in seconds at which the line is complete, with shortened pauses.
	at    float64
	parts []part
}

// part is a text of one style.
type part struct {
	style string
	text  string
}

// styles are the escape codes of the narrator, and their names.
var styles = map[string]string{"0": "", "1": "bold", "2": "dim", "31": "red", "32": "green", "36": "cyan"}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// read reads an asciicast v2. Lines that are wider than the terminal are continued on the next line.
func read(from io.Reader) (*recording, error) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	var header struct {
		Version, Width, Height int
		Title                  string
	}
	if !in.Scan() {
		return nil, errors.Join(errors.New("no header"), in.Err())
	}
	if err := json.Unmarshal(in.Bytes(), &header); err != nil {
		return nil, err
	}
	if header.Version != 2 || header.Width <= 0 || header.Height <= 0 {
		return nil, fmt.Errorf("no asciicast of version 2: %s", in.Text())
	}
	r := &recording{title: header.Title, width: header.Width, height: header.Height}
	rest, last, now := "", 0.0, 0.0
	for in.Scan() {
		at, text, err := output(in.Bytes())
		if err != nil {
			return nil, err
		}
		now += min(at-last, longestPause)
		last = at
		complete := strings.Split(rest+strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		rest = complete[len(complete)-1]
		for _, content := range complete[:len(complete)-1] {
			for _, parts := range wrap(parse(content), r.width) {
				r.lines = append(r.lines, line{at: now, parts: parts})
				now += shortestPause
			}
		}
	}
	return r, in.Err()
}

// output returns the time and the text of an event of the asciicast.
func output(event []byte) (at float64, text string, err error) {
	var kind string
	if err := json.Unmarshal(event, &[]any{&at, &kind, &text}); err != nil {
		return 0, "", fmt.Errorf("%s: %w", event, err)
	}
	if kind != "o" {
		return at, "", nil
	}
	return at, text, nil
}

// parse divides a line at its escape codes.
func parse(content string) []part {
	var parts []part
	style := ""
	for content != "" {
		next := escape.FindStringSubmatchIndex(content)
		if next == nil {
			return append(parts, part{style, content})
		}
		if next[0] > 0 {
			parts = append(parts, part{style, content[:next[0]]})
		}
		style = styles[content[next[2]:next[3]]]
		content = content[next[1]:]
	}
	return parts
}

// wrap divides a line into lines of at most width characters.
func wrap(parts []part, width int) [][]part {
	lines := [][]part{nil}
	left := width
	for _, p := range parts {
		text := []rune(p.text)
		for len(text) > 0 {
			if left == 0 {
				lines = append(lines, nil)
				left = width
			}
			n := min(left, len(text))
			last := len(lines) - 1
			lines[last] = append(lines[last], part{p.style, string(text[:n])})
			text = text[n:]
			left -= n
		}
	}
	return lines
}
