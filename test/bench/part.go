package main

// sample is one measurement.
type sample struct {
	// Seconds until what is measured was reached.
	Seconds float64 `json:"seconds"`
	// Elapsed also has the time until the operator was quiet again; what follows is of that time.
	Elapsed     float64                   `json:"elapsedSeconds"`
	CPUSeconds  float64                   `json:"cpuSeconds"`
	PeakRSS     float64                   `json:"peakRSSMiB"`
	Passes      int                       `json:"passes"`
	Requests    tally                     `json:"requests"`
	OtherAgents map[string]map[string]int `json:"otherAgents"`
}

// floorTime is how long the fastest number of bare writers took.
type floorTime struct {
	Seconds float64 `json:"seconds"`
	Writers int     `json:"writers"`
	// All is the time by number of writers.
	All map[int]float64 `json:"all"`
	// Post is the seconds that the same number of writers took to create the same objects by POST; 0 where nothing was
	// created.
	Post float64 `json:"postSeconds,omitempty"`
}

// part is what was measured of a scenario, or of one of its steps.
type part struct {
	Name       string `json:"name,omitempty"`
	Components int    `json:"components"`
	// Dependents of each component.
	Dependents int                `json:"dependents"`
	Rounds     []sample           `json:"rounds"`
	Floor      []floorTime        `json:"floor,omitempty"`
	Extra      map[figure]float64 `json:"extra,omitempty"`
}

// each collects a value of every round.
func (p part) each(of func(sample) float64) []float64 {
	values := make([]float64, 0, len(p.Rounds))
	for _, s := range p.Rounds {
		values = append(values, of(s))
	}
	return values
}

func (p part) seconds() []float64 { return p.each(func(s sample) float64 { return s.Seconds }) }

// requests are those that count.
func (p part) requests() []float64 {
	return p.each(func(s sample) float64 { return float64(s.Requests.sum(classCounted)) })
}

func (p part) floorSeconds() []float64 {
	values := make([]float64, 0, len(p.Floor))
	for _, f := range p.Floor {
		values = append(values, f.Seconds)
	}
	return values
}

// postSeconds are those of the rounds whose floor created objects.
func (p part) postSeconds() []float64 {
	var values []float64
	for _, f := range p.Floor {
		if f.Post > 0 {
			values = append(values, f.Post)
		}
	}
	return values
}

// derived are the figures that follow from the rounds: of times the median, of everything else the worst round.
var derived = map[figure]func(part) float64{
	figSeconds:      func(p part) float64 { return median(p.seconds()) },
	figFloors:       func(p part) float64 { return median(p.seconds()) / median(p.floorSeconds()) },
	figRequests:     func(p part) float64 { return largest(p.requests()) },
	figPerComponent: func(p part) float64 { return largest(p.requests()) / float64(p.Components) },
	figOverN:        func(p part) float64 { return largest(p.requests())/float64(p.Components) - float64(p.Dependents) },
	figPeak:         func(p part) float64 { return largest(p.each(func(s sample) float64 { return s.PeakRSS })) },
	figCores: func(p part) float64 {
		return largest(p.each(func(s sample) float64 { return 100 * s.CPUSeconds / s.Elapsed }))
	},
	figListsOfAKind: func(p part) float64 {
		return largest(p.each(func(s sample) float64 { return float64(s.Requests.mostOfAKind(classList)) }))
	},
	figWatchesOfAKind: func(p part) float64 {
		return largest(p.each(func(s sample) float64 { return float64(s.Requests.mostOfAKind(classWatch)) }))
	},
}

// value returns a figure. What is in Extra goes first.
func (p part) value(f figure) (float64, bool) {
	if value, ok := p.Extra[f]; ok {
		return value, true
	}
	derive, ok := derived[f]
	if !ok || len(p.Rounds) == 0 || f == figFloors && len(p.Floor) == 0 {
		return 0, false
	}
	return derive(p), true
}
