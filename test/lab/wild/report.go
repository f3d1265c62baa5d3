package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// line returns the result of a chart in one line.
func (r *result) line() string {
	text := fmt.Sprintf("%-12s %s %s", r.verdict(), r.Chart, r.Version)
	switch {
	case r.Unusable != "":
		return text + ": " + firstLine(r.Unusable)
	case len(r.Short) > 0:
		return fmt.Sprintf("%s: %d, the first: %s", text, len(r.Short), firstLine(r.Short[0]))
	}
	return fmt.Sprintf("%s: install %s, Helm %s", text, timeOf(r.Fairlead, stepInstall), timeOf(r.Helm, stepInstall))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// report writes a table of all results, the shortfalls, and the counts. It returns the exit code.
func report(out io.Writer, results []result) int {
	rows := [][]string{
		{"chart", "version", "objects", "seconds", "Helm's seconds", "requests", "Helm's requests", "verdict"},
	}
	for _, r := range results {
		if r.Unusable != "" {
			rows = append(rows, []string{r.Chart, r.Version, "", "", "", "", "", r.verdict() + ": " + short(r.Unusable)})
			continue
		}
		verdict := r.verdict()
		if len(r.Short) > 0 {
			verdict += ": " + short(r.Short[0])
		}
		rows = append(rows, []string{
			r.Chart,
			r.Version,
			fmt.Sprint(r.Helm[0].Objects),
			times(r.Fairlead),
			times(r.Helm),
			requests(r.Fairlead),
			requests(r.Helm),
			verdict,
		})
	}
	_, _ = fmt.Fprintf(out, "\nSeconds and requests are those of %s.\n\n", strings.Join(stepNames(), ", "))
	markdown.WriteTable(out, rows)
	var equal, fallen, uncounted int
	for _, r := range results {
		switch {
		case r.Unusable != "":
			uncounted++
		case len(r.Short) > 0:
			fallen++
		default:
			equal++
		}
		list(out, &r.judgement, "falls short", r.Short)
	}
	for _, r := range results {
		list(out, &r.judgement, "differs as documented, or where Helm fails", r.Notes)
	}
	_, _ = fmt.Fprintf(
		out,
		"\n%d charts: %d equal, %d with a shortfall, %d not counted, because Helm does not install them\n",
		len(results),
		equal,
		fallen,
		uncounted,
	)
	_, _ = fmt.Fprintf(out, "Median of installations: %s, Helm's %s\n", median(results, ours), median(results, helms))
	return min(fallen, 1)
}

func list(out io.Writer, j *judgement, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "\n%s %s %s:\n\n", j.Chart, j.Version, title)
	for _, line := range lines {
		_, _ = fmt.Fprintf(out, "- %s\n", strings.ReplaceAll(line, "\n", "\n  "))
	}
}

// short shortens a text so that it fits into a cell of the table.
func short(text string) string {
	const longest = 100
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

func stepNames() (names []string) {
	for _, s := range allSteps {
		names = append(names, string(s))
	}
	return names
}

// perStep formats a value of each step; a step that was left out is "-".
func perStep(outcomes []outcome, format func(outcome) string) string {
	var texts []string
	for _, s := range allSteps {
		i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.Step == s })
		if i < 0 {
			texts = append(texts, "-")
			continue
		}
		texts = append(texts, format(outcomes[i]))
	}
	return strings.Join(texts, " ")
}

func times(outcomes []outcome) string {
	return perStep(outcomes, func(o outcome) string { return fmt.Sprintf("%.1f", o.Took.Seconds()) })
}

func requests(outcomes []outcome) string {
	return perStep(outcomes, func(o outcome) string { return fmt.Sprint(o.Requests) })
}

func timeOf(outcomes []outcome, s step) string {
	for _, o := range outcomes {
		if o.Step == s {
			return fmt.Sprintf("%.1f s", o.Took.Seconds())
		}
	}
	return "-"
}

func ours(r result) []outcome { return r.Fairlead }

func helms(r result) []outcome { return r.Helm }

// median returns the median of a value over the installations that succeeded with both programs.
func median(results []result, of func(result) []outcome) string {
	var all []time.Duration
	for _, r := range results {
		if r.Unusable == "" && r.Helm[0].Failure == "" && len(r.Fairlead) > 0 && r.Fairlead[0].Failure == "" {
			all = append(all, of(r)[0].Took)
		}
	}
	if len(all) == 0 {
		return "-"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f s", all[len(all)/2].Seconds())
}
