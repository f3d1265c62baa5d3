package main

import (
	"fmt"
	"math"
)

// figure is a measured value that can have a budget. Its text is also its unit.
type figure string

const (
	figRequests        figure = "requests"
	figPerComponent    figure = "requests a component"
	figOverN           figure = "requests a component beyond one a dependent"
	figDependentWrites figure = "writes to dependents"
	figPerRepair       figure = "writes a repair"
	figStatusWrites    figure = "status writes"
	figListsOfAKind    figure = "lists of a kind"
	figWatchesOfAKind  figure = "watches of a kind"
	figNotReady        figure = "components not Ready"
	figNotRepaired     figure = "edits not repaired"
	figFloors          figure = "× floor"
	figSeconds         figure = "s"
	figP50             figure = "ms at p50"
	figP99             figure = "ms at p99"
	figCores           figure = "% of a core"
	figPeak            figure = "MiB of RSS"
	figHeapPerObject   figure = "KiB of live heap an object"
	figTimesSmall      figure = "× the time of a tenth"
	figTimesAlone      figure = "× its time alone"
	figPlan            figure = "ms a plan"
)

// limit is the largest permitted value of a figure in a part of a scenario. If a scenario consists of a single part,
// the name of this part is empty.
type limit struct {
	part   string
	figure figure
	most   float64
	// below demands a value below most. Without it the value may also be equal to most.
	below bool
}

// check is a limit and the measured value.
type check struct {
	Part   string  `json:"part,omitempty"`
	Figure figure  `json:"figure"`
	Limit  float64 `json:"limit"`
	// Got is nil if nothing was measured, because the scenario failed.
	Got *float64 `json:"got"`
	Met bool     `json:"met"`
}

// judge compares measured values with limits. A value that was not measured misses its limit.
func judge(limits []limit, parts []part) []check {
	checks := make([]check, 0, len(limits))
	for _, l := range limits {
		c := check{Part: l.part, Figure: l.figure, Limit: l.most}
		if got, ok := valueOf(parts, l); ok && !math.IsNaN(got) && !math.IsInf(got, 0) {
			c.Got = &got
			c.Met = got < l.most || !l.below && got == l.most
		}
		checks = append(checks, c)
	}
	return checks
}

func valueOf(parts []part, l limit) (float64, bool) {
	for _, p := range parts {
		if p.Name == l.part {
			return p.value(l.figure)
		}
	}
	return 0, false
}

// String returns verdict, figure and limit, such as "MISSED 1,100 requests (at most 1,004)".
func (c check) String() string {
	text := "not measured: " + string(c.Figure)
	if c.Got != nil {
		text = fmt.Sprintf("%s %s", number(*c.Got), c.Figure)
	}
	if c.Part != "" {
		text = c.Part + ": " + text
	}
	verdict := "met"
	if !c.Met {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s %s (budget %s)", verdict, text, number(c.Limit))
}

// number prints a value with its significant digits.
func number(value float64) string {
	switch {
	case value == math.Trunc(value):
		return fmt.Sprintf("%.0f", value)
	case math.Abs(value) < 10:
		return fmt.Sprintf("%.2f", value)
	case math.Abs(value) < 100:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}
