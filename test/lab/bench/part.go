package main

// sample is one measurement.
type sample struct {
	// Seconds is the time until the measured state was reached.
	Seconds float64 `json:"seconds"`
	// Elapsed also includes the time until the operator was quiet again. The fields below cover this time.
	Elapsed     float64                   `json:"elapsedSeconds"`
	CPUSeconds  float64                   `json:"cpuSeconds"`
	PeakRSS     float64                   `json:"peakRSSMiB"`
	Passes      int                       `json:"passes"`
	Requests    tally                     `json:"requests"`
	OtherAgents map[string]map[string]int `json:"otherAgents"`
}

// floorTime is the time of the bare client with its fastest number of concurrent writers.
type floorTime struct {
	Seconds float64 `json:"seconds"`
	Writers int     `json:"writers"`
	// All maps each number of writers to its time.
	All map[int]float64 `json:"all"`
	// Post is the time in seconds that the same number of writers took to create the same objects by POST. It is 0 if
	// nothing was created.
	Post float64 `json:"postSeconds,omitempty"`
}

// part holds the measurements of a scenario, or of one of its steps.
type part struct {
	Name       string `json:"name,omitempty"`
	Components int    `json:"components"`
	// Dependents is the number of dependents of each component.
	Dependents int                `json:"dependents"`
	Rounds     []sample           `json:"rounds"`
	Floor      []floorTime        `json:"floor,omitempty"`
	Extra      map[figure]float64 `json:"extra,omitempty"`
}

// each returns a value of every round.
func (p part) each(of func(sample) float64) []float64 {
	values := make([]float64, 0, len(p.Rounds))
	for _, s := range p.Rounds {
		values = append(values, of(s))
	}
	return values
}

func (p part) seconds() []float64 { return p.each(func(s sample) float64 { return s.Seconds }) }

// requests returns the number of counted requests in each round.
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

// postSeconds returns the time for the creation by POST of each round. Rounds whose floor created no objects are left
// out.
func (p part) postSeconds() []float64 {
	var values []float64
	for _, f := range p.Floor {
		if f.Post > 0 {
			values = append(values, f.Post)
		}
	}
	return values
}

// derived are the figures that are computed from the rounds: the median for times, and the worst round for all others.
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

// value returns a figure. A value in Extra takes precedence.
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
