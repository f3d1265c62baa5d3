package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/lab/markdown"
)

// report contains the results of a whole run.
type report struct {
	Time    time.Time `json:"time"`
	Machine machine   `json:"machine"`
	// Quick is set if the run used the small sizes.
	Quick   bool     `json:"quick"`
	Results []result `json:"results,omitempty"`
	// Compared replaces Results if several operators were compared.
	Compared []compared `json:"compared,omitempty"`
}

// all returns the results of all operators.
func (r report) all() []result {
	all := r.Results
	for _, c := range r.Compared {
		all = slices.Concat(all, c.Results)
	}
	return all
}

func (r report) empty() bool { return len(r.all()) == 0 }

// machine describes the environment that the figures depend on.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`         // Empty if no scenario needed a cluster.
	Operator   string `json:"operator,omitempty"` // Set only if a single operator is measured.
}

func (m machine) String() string {
	text := fmt.Sprintf("%d × %s; %s", m.Cores, m.CPU, m.Go)
	if m.Kubernetes != "" {
		text += ", Kubernetes " + m.Kubernetes
	}
	if m.Operator != "" {
		text += ", operator " + m.Operator
	}
	return text
}

// result is a scenario with its measurements and the checks of its budget.
type result struct {
	Number   int      `json:"number"`
	Scenario string   `json:"scenario"`
	Budget   string   `json:"budget"`
	Parts    []part   `json:"parts,omitempty"`
	Checks   []check  `json:"checks"`
	Notes    []string `json:"notes,omitempty"`
	// Failure is the reason why the scenario failed.
	Failure string `json:"failure,omitempty"`
}

func (r result) met() bool {
	return r.Failure == "" && !slices.ContainsFunc(r.Checks, func(c check) bool { return !c.Met })
}

func (r result) verdict() string {
	if r.met() {
		return "met"
	}
	return "MISSED"
}

// verdicts returns the results of the checks as text.
func (r result) verdicts() []string {
	var lines []string
	for _, c := range r.Checks {
		lines = append(lines, c.String())
	}
	if r.Failure != "" {
		lines = append(lines, "FAILED: "+r.Failure)
	}
	return append(lines, r.Notes...)
}

// write prints the table, and below it the result for each budget.
func (r report) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	_, _ = fmt.Fprintf(w, "%s\n", r.Machine)
	if r.Quick {
		_, _ = fmt.Fprintln(
			w,
			"This was a quick run: the sizes, and the budgets of requests, are smaller than in the titles of the scenarios.",
		)
	}
	_, _ = fmt.Fprintln(w)
	if len(r.Compared) > 0 {
		writeComparison(w, r.Compared)
		return w.Flush()
	}
	markdown.WriteTable(w, r.rows())
	_, _ = fmt.Fprintln(w)
	for _, result := range r.Results {
		_, _ = fmt.Fprintf(w, "%d. %s: %s\n", result.Number, result.Scenario, result.verdict())
		for _, line := range result.verdicts() {
			_, _ = fmt.Fprintf(w, "   - %s\n", line)
		}
		for _, p := range result.Parts {
			if len(p.Rounds) == 0 && len(p.Extra) > 0 {
				continue // The scenario sends no requests.
			}
			_, _ = fmt.Fprintf(w, "   - %s\n", p.requestsInWords())
			if posts := p.postSeconds(); len(posts) > 0 {
				_, _ = fmt.Fprintf(w, "   - the same objects by bare POST: %s s\n", spread(posts))
			}
		}
	}
	return w.Flush()
}

var columns = []string{
	"#",
	"scenario",
	"budget",
	"s, median (spread)",
	"floor, s (writers)",
	"× floor",
	"requests",
	"CPU s",
	"peak MiB",
	"verdict",
}

func (r report) rows() [][]string {
	rows := [][]string{columns}
	for _, result := range r.Results {
		first := []string{fmt.Sprint(result.Number), result.Scenario, result.Budget}
		if len(result.Parts) == 0 {
			rows = append(rows, append(first, "", "", "", "", "", "", result.verdict()))
		}
		for i, p := range result.Parts {
			verdict := ""
			if i == 0 {
				verdict = result.verdict()
			} else {
				first = []string{"", "", ""}
			}
			if p.Name != "" {
				first[1] = strings.TrimPrefix(first[1]+": "+p.Name, ": ")
			}
			rows = append(rows, slices.Concat(first, p.cells(), []string{verdict}))
		}
	}
	return rows
}

// cells returns the columns of the measurements.
func (p part) cells() []string {
	if len(p.Rounds) == 0 {
		return []string{"", "", "", "", "", ""}
	}
	floor, ratio := "", ""
	if times, ok := p.value(figFloors); ok {
		floor = fmt.Sprintf("%s (%s)", spread(p.floorSeconds()), p.fastestWriters())
		ratio = fmt.Sprintf("%.2f", times)
	}
	return []string{
		spread(p.seconds()), floor, ratio, p.worst().Requests.byVerb(),
		fmt.Sprintf("%.2f", median(p.each(func(s sample) float64 { return s.CPUSeconds }))),
		fmt.Sprintf("%.0f", largest(p.each(func(s sample) float64 { return s.PeakRSS }))),
	}
}

// worst returns the round with the most requests.
func (p part) worst() sample {
	return slices.MaxFunc(
		p.Rounds,
		func(a, b sample) int { return a.Requests.sum(classCounted) - b.Requests.sum(classCounted) },
	)
}

// fastestWriters lists the numbers of writers that were the fastest in at least one round.
func (p part) fastestWriters() string {
	var numbers []int
	for _, f := range p.Floor {
		numbers = append(numbers, f.Writers)
	}
	slices.Sort(numbers)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Compact(numbers)), " ", ", "), "[]")
}

// requestsInWords lists all requests of the round that has the most of them.
func (p part) requestsInWords() string {
	if len(p.Rounds) == 0 {
		return "no request was measured"
	}
	worst := p.worst().Requests
	text := fmt.Sprintf("%d requests", worst.sum(classCounted))
	if p.Name != "" {
		text = p.Name + ": " + text
	}
	if detail := worst.byResource(); detail != "" {
		text += " (" + detail + ")"
	}
	var free []string
	for _, c := range []class{classWatch, classList, classDiscovery, classEvent, classLease, classSpill} {
		if n := worst.sum(c); n > 0 {
			free = append(free, fmt.Sprintf("%d %s", n, c))
		}
	}
	if len(free) > 0 {
		text += "; not counted: " + strings.Join(free, ", ")
	}
	return text
}

// spread prints the median of the values, followed by the extremes if there are several values.
func spread(values []float64) string {
	middle := fmt.Sprintf("%.3f", median(values))
	if len(values) < 2 {
		return middle
	}
	return fmt.Sprintf("%s (%.3f to %.3f)", middle, slices.Min(values), slices.Max(values))
}

// writeJSON writes all measurements as JSON.
func (r report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// cpuName reads the name of the processor from the operating system.
func cpuName() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for line := range strings.Lines(string(content)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// dropUnmeasured removes figures that were not measured, because JSON cannot represent NaN.
func dropUnmeasured(figures map[figure]float64) map[figure]float64 {
	for f, value := range figures {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			delete(figures, f)
		}
	}
	return figures
}
