package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// style is an escape code of terminals.
type style string

const (
	bold  style = "\x1b[1m"
	dim   style = "\x1b[2m"
	green style = "\x1b[32m"
	red   style = "\x1b[31m"
	cyan  style = "\x1b[36m"
	plain style = "\x1b[0m"
)

// textWidth is where the milliseconds of checks begin.
const textWidth = 96

// narrator tells what happens. Off a terminal, and where NO_COLOR is set, its text has no escape codes.
type narrator struct {
	out    io.Writer
	styled bool
	// steps and checks count what was told.
	steps, checks int
}

func newNarrator(out *os.File) *narrator {
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &narrator{out: out, styled: terminal && os.Getenv("NO_COLOR") == ""}
}

func (n *narrator) in(s style, text string) string {
	if !n.styled {
		return text
	}
	return string(s) + text + string(plain)
}

func (n *narrator) printf(format string, args ...any) { _, _ = fmt.Fprintf(n.out, format, args...) }

// step is the headline of what follows.
func (n *narrator) step(title string) {
	n.steps++
	n.printf("\n%s\n", n.in(bold, fmt.Sprintf("%2d  %s", n.steps, title)))
}

// say explains.
func (n *narrator) say(format string, args ...any) {
	n.printf("    %s\n", fmt.Sprintf(format, args...))
}

// command shows what is run, or what somebody would type to do the same.
func (n *narrator) command(words ...string) {
	n.printf("    %s\n", n.in(cyan, "$ "+strings.Join(words, " ")))
}

// held is a check that passed.
func (n *narrator) held(took time.Duration, format string, args ...any) {
	n.checks++
	text := fmt.Sprintf(format, args...)
	padding := max(1, textWidth-len([]rune(text)))
	n.printf("    %s %s%s%s\n", n.in(green, "✓"), text, strings.Repeat(" ", padding), n.in(dim, fmt.Sprintf("%6d ms", took.Milliseconds())))
}

// failed is the end of a demo that did not hold.
func (n *narrator) failed(err error) {
	n.printf("\n    %s %s\n", n.in(red, "✗"), err)
}

// output returns a writer for what a command prints; its lines are set off from the narrator's own.
func (n *narrator) output() io.Writer {
	return &lineWriter{out: n.out, prefix: "    " + n.in(dim, "│") + " "}
}

// lineWriter puts a prefix before each line. A last line without an end is lost.
type lineWriter struct {
	out    io.Writer
	prefix string
	rest   []byte
}

// Write passes complete lines on.
func (w *lineWriter) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(text), nil
		}
		if _, err := fmt.Fprintf(w.out, "%s%s\n", w.prefix, line); err != nil {
			return 0, err
		}
		w.rest = rest
	}
}
