package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// compared are the results of one operator in a comparison.
type compared struct {
	Operator string   `json:"operator"`
	Path     string   `json:"path"`
	Version  string   `json:"version"`
	Results  []result `json:"results"`
}

// comparedFigures are the columns of a comparison. A lower value is better in each column.
var comparedFigures = []struct {
	title string
	of    func(part) float64
	print func(part) string
}{
	{"s, median (spread)", derived[figSeconds], func(p part) string { return spread(p.seconds()) }},
	{"requests", derived[figRequests], func(p part) string { return number(derived[figRequests](p)) }},
	{"CPU s", cpuSeconds, func(p part) string { return fmt.Sprintf("%.2f", cpuSeconds(p)) }},
	{"peak MiB", derived[figPeak], func(p part) string { return fmt.Sprintf("%.0f", derived[figPeak](p)) }},
}

func cpuSeconds(p part) float64 {
	return median(p.each(func(s sample) float64 { return s.CPUSeconds }))
}

// writeComparison prints a table of all parts of the scenarios, with a row for each operator. Below the table it prints
// the figures that have a budget. Ratios are relative to the first operator.
func writeComparison(w io.Writer, operators []compared) {
	for i, c := range operators {
		_, _ = fmt.Fprintf(w, "%d. %s: %s, version %s\n", i+1, c.Operator, c.Path, c.Version)
	}
	_, _ = fmt.Fprintln(w)
	header := []string{"#", "scenario", "operator"}
	for _, f := range comparedFigures {
		header = append(header, f.title, "× first")
	}
	rows := [][]string{header}
	for i := range operators[0].Results {
		rows = append(rows, comparedRows(operators, i)...)
	}
	markdown.WriteTable(w, rows)
	_, _ = fmt.Fprintln(w)
	for i, first := range operators[0].Results {
		_, _ = fmt.Fprintf(w, "%d. %s\n", first.Number, first.Scenario)
		for _, line := range comparedLines(operators, i) {
			_, _ = fmt.Fprintf(w, "   - %s\n", line)
		}
	}
}

// resultOf returns the result of an operator for a scenario. It returns an empty result if the run ended before this
// scenario.
func (c compared) resultOf(scenario int) result {
	if scenario < len(c.Results) {
		return c.Results[scenario]
	}
	return result{Failure: "the scenario was not run"}
}

func (r result) part(i int) part {
	if i < len(r.Parts) {
		return r.Parts[i]
	}
	return part{}
}

// comparedRows returns the rows of a scenario: for each of its parts a row for each operator.
func comparedRows(operators []compared, scenario int) [][]string {
	first := operators[0].resultOf(scenario)
	parts := 1
	for _, c := range operators {
		parts = max(parts, len(c.resultOf(scenario).Parts))
	}
	var rows [][]string
	for i := range parts {
		title := []string{fmt.Sprint(first.Number), first.Scenario}
		if i > 0 {
			title = []string{"", ""}
		}
		if name := first.part(i).Name; name != "" {
			title[1] = strings.TrimPrefix(title[1]+": "+name, ": ")
		}
		for _, c := range operators {
			row := []string{title[0], title[1], c.Operator}
			title = []string{"", ""}
			p := c.resultOf(scenario).part(i)
			for _, f := range comparedFigures {
				value := ""
				if len(p.Rounds) > 0 {
					value = f.print(p)
				}
				row = append(row, value, ratio(f.of(p), f.of(first.part(i))))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// ratio prints value divided by of. It prints nothing if a value was not measured, or if of is 0.
func ratio(value, of float64) string {
	times := value / of
	if math.IsNaN(times) || math.IsInf(times, 0) {
		return ""
	}
	return fmt.Sprintf("%.2f", times)
}

// comparedLines returns the figures of a scenario that have a budget, the requests, and the reason if the scenario
// failed.
func comparedLines(operators []compared, scenario int) []string {
	first := operators[0].resultOf(scenario)
	var lines []string
	for i, check := range first.Checks {
		var values []string
		for _, c := range operators {
			values = append(values, checked(c.resultOf(scenario), i, check))
		}
		lines = append(lines, strings.TrimPrefix(check.Part+": ", ": ")+string(check.Figure)+": "+strings.Join(values, "; "))
	}
	for i := range first.Parts {
		lines = append(lines, requestsOfAll(operators, scenario, i)...)
	}
	for _, c := range operators {
		r := c.resultOf(scenario)
		if r.Failure != "" {
			lines = append(lines, c.Operator+": FAILED: "+r.Failure)
		}
		for _, note := range r.Notes {
			lines = append(lines, c.Operator+": "+note)
		}
	}
	return lines
}

// checked prints the value of a check, and its ratio to the value of the first operator.
func checked(r result, i int, first check) string {
	if i >= len(r.Checks) || r.Checks[i].Got == nil {
		return "not measured"
	}
	text := number(*r.Checks[i].Got)
	if first.Got == nil {
		return text
	}
	if times := ratio(*r.Checks[i].Got, *first.Got); times != "" {
		text += " (× " + times + ")"
	}
	return text
}

// requestsOfAll prints the requests once if they are equal for all operators, and otherwise for each operator.
func requestsOfAll(operators []compared, scenario, i int) []string {
	var lines []string
	same := true
	for _, c := range operators {
		p := c.resultOf(scenario).part(i)
		lines = append(lines, c.Operator+": "+p.requestsInWords())
		same = same && counted(p) == counted(operators[0].resultOf(scenario).part(i))
	}
	if same {
		return []string{"the same requests of all: " + operators[0].resultOf(scenario).part(i).requestsInWords()}
	}
	return lines
}

// counted prints the requests that count against budgets, for the round with the most requests.
func counted(p part) string {
	if len(p.Rounds) == 0 {
		return ""
	}
	return p.worst().Requests.byResource()
}
