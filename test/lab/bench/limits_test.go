package main

import (
	"math"
	"testing"
)

func TestLimits(t *testing.T) {
	of := func(value float64) []part { return []part{{Extra: map[figure]float64{figRequests: value}}} }
	for _, c := range []struct {
		name  string
		limit limit
		parts []part
		want  string
	}{
		{"a value below the limit", limit{figure: figRequests, most: 4}, of(3), "met 3 requests (budget 4)"},
		{"a value equal to the limit", limit{figure: figRequests, most: 4}, of(4), "met 4 requests (budget 4)"},
		{"a value above the limit", limit{figure: figRequests, most: 4}, of(5), "MISSED 5 requests (budget 4)"},
		{
			"a value equal to a limit that requires a lower value",
			limit{figure: figRequests, most: 4, below: true},
			of(4), "MISSED 4 requests (budget 4)",
		},
		{
			"a value that is not a number",
			limit{figure: figRequests, most: 4},
			of(math.NaN()), "MISSED not measured: requests (budget 4)",
		},
		{"only another figure was measured", limit{figure: figSeconds, most: 4}, of(1), "MISSED not measured: s (budget 4)"},
		{"nothing was measured", limit{figure: figRequests, most: 4}, nil, "MISSED not measured: requests (budget 4)"},
		{
			"a limit of a part that was not measured",
			limit{part: partOne, figure: figRequests, most: 4},
			of(1), "MISSED of 1: not measured: requests (budget 4)",
		},
	} {
		if got := judge([]limit{c.limit}, c.parts)[0].String(); got != c.want {
			t.Errorf("%s: want the check %q, got %q", c.name, c.want, got)
		}
	}
}

func TestFiguresOfAPart(t *testing.T) {
	requests := func(n int) tally {
		return tally{classCounted: {"patch configmaps": n}, classWatch: {"watch configmaps": 1}}
	}
	p := part{
		Components: 2, Dependents: 3,
		Rounds: []sample{
			{Seconds: 1, Elapsed: 2, CPUSeconds: 1, PeakRSS: 20, Requests: requests(12)},
			{Seconds: 9, Elapsed: 10, CPUSeconds: 1, PeakRSS: 30, Requests: requests(10)},
			{Seconds: 3, Elapsed: 4, CPUSeconds: 1, PeakRSS: 10, Requests: requests(10)},
		},
		Floor: []floorTime{{Seconds: 1}, {Seconds: 2}, {Seconds: 3}},
		Extra: map[figure]float64{figP50: 7},
	}
	for f, want := range map[figure]float64{
		figSeconds:        3, // the median of the rounds
		figFloors:         1.5,
		figRequests:       12, // the worst of the rounds
		figPerComponent:   6,
		figOverN:          3,
		figPeak:           30,
		figCores:          50,
		figWatchesOfAKind: 1,
		figListsOfAKind:   0,
		figP50:            7,
	} {
		if got, ok := p.value(f); !ok || got != want {
			t.Errorf("figure %s: want %v, got %v", f, want, got)
		}
	}
	p.Floor = nil
	if _, ok := p.value(figFloors); ok {
		t.Error("value computed a ratio to the floor (the time of the bare client), although the floor was not measured")
	}
}
