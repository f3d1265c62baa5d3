package main

import (
	"fmt"
	"html"
	"strings"
)

// The sizes of the picture, in pixels.
const (
	charWidth  = 7.25
	lineHeight = 17
	margin     = 12
)

// pauseAtEnd is the time in seconds during which the last lines stay before the recording begins again.
const pauseAtEnd = 6.0

const svgStyle = `text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre; }
.page { fill: #f6f8fa; }
.bold { font-weight: bold; }
.dim { fill: #59636e; }
.red { fill: #cf222e; }
.green { fill: #1a7f37; }
.cyan { fill: #0550ae; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.page { fill: #0d1117; }
.dim { fill: #9ea7b3; }
.red { fill: #f85149; }
.green { fill: #3fb950; }
.cyan { fill: #79c0ff; }
}
`

// still stops the animations. It stands after them, because the last of equal rules holds.
const still = `@media (prefers-reduced-motion: reduce) {
#scroll, #cover { animation: none; }
}
`

// render draws all lines one below the other. Two animations in steps do the rest: a cover moves down line by line, and
// the lines move up when the terminal is full. Who prefers no motion sees the end.
func render(r *recording) string {
	duration := pauseAtEnd
	if n := len(r.lines); n > 0 {
		duration += r.lines[n-1].at
	}
	width, height := int(float64(r.width)*charWidth)+2*margin, r.height*lineHeight+2*margin
	var out strings.Builder
	printf := func(format string, a ...any) { fmt.Fprintf(&out, format, a...) }
	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%[1]d\" height=\"%[2]d\" role=\"img\">\n",
		width, height)
	printf("<title>%s</title>\n<style>\n%s", html.EscapeString("A recording of "+r.title), svgStyle)
	scrolled := animation(&out, "scroll", r.lines, duration, func(shown int) int {
		return -max(0, shown-r.height) * lineHeight
	})
	covered := animation(&out, "cover", r.lines, duration, func(shown int) int { return shown * lineHeight })
	printf("%s</style>\n<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", still, width, height)
	printf("<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"><g id=\"scroll\" style=\"transform:translateY(%dpx)\">\n",
		margin, margin, width-2*margin, r.height*lineHeight, scrolled)
	for i, l := range r.lines {
		printf("<text y=\"%d\">%s</text>\n", i*lineHeight+13, spans(l.parts))
	}
	printf("<rect id=\"cover\" class=\"page\" width=\"%d\" height=\"%d\" style=\"transform:translateY(%dpx)\"/>\n",
		width, (len(r.lines)+r.height)*lineHeight, covered)
	printf("</g></svg>\n</svg>\n")
	return out.String()
}

// animation writes the keyframes of an element, whose place depends on the number of complete lines, and returns the
// last place.
func animation(out *strings.Builder, id string, lines []line, duration float64, place func(shown int) int) int {
	fmt.Fprintf(out, "#%s { animation: %[1]s %.2fs step-end infinite; }\n@keyframes %[1]s {\n", id, duration)
	last := place(0)
	fmt.Fprintf(out, "0%%{transform:translateY(%dpx)}\n", last)
	for i, l := range lines {
		if next := place(i + 1); next != last {
			fmt.Fprintf(out, "%.3f%%{transform:translateY(%dpx)}\n", 100*l.at/duration, next)
			last = next
		}
	}
	out.WriteString("}\n")
	return last
}

func spans(parts []part) string {
	var out strings.Builder
	for _, p := range parts {
		text := html.EscapeString(p.text)
		if p.style == "" {
			out.WriteString(text)
			continue
		}
		fmt.Fprintf(&out, "<tspan class=%q>%s</tspan>", p.style, text)
	}
	return out.String()
}
