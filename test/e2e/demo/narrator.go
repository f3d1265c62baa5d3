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

// textWidth is the column at which the milliseconds of checks begin.
const textWidth = 96

// narrator prints the progress. If the output is not a terminal, or NO_COLOR is set, it prints no escape codes.
type narrator struct {
	out    io.Writer
	styled bool
	// steps and checks count the printed steps and checks.
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

// step prints the headline of a step.
func (n *narrator) step(title string) {
	n.steps++
	n.printf("\n%s\n", n.in(bold, fmt.Sprintf("%2d  %s", n.steps, title)))
}

// say prints an explanation.
func (n *narrator) say(format string, args ...any) {
	n.printf("    %s\n", fmt.Sprintf(format, args...))
}

// command prints a command that is run, or that a user would type for the same effect.
func (n *narrator) command(words ...string) {
	n.printf("    %s\n", n.in(cyan, "$ "+strings.Join(words, " ")))
}

// held prints a check that passed.
func (n *narrator) held(took time.Duration, format string, args ...any) {
	n.checks++
	text := fmt.Sprintf(format, args...)
	padding := max(1, textWidth-len([]rune(text)))
	n.printf(
		"    %s %s%s%s\n",
		n.in(green, "✓"),
		text,
		strings.Repeat(" ", padding),
		n.in(dim, fmt.Sprintf("%6d ms", took.Milliseconds())),
	)
}

// failed prints the error that ended the demo.
func (n *narrator) failed(err error) {
	n.printf("\n    %s %s\n", n.in(red, "✗"), err)
}

// output returns a writer for the output of a command. Its lines are indented.
func (n *narrator) output() io.Writer {
	return &lineWriter{out: n.out, prefix: "    " + n.in(dim, "│") + " "}
}

// lineWriter adds a prefix to each line. It drops a last line without a line break.
type lineWriter struct {
	out    io.Writer
	prefix string
	rest   []byte
}

// Write writes complete lines with their prefix.
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
