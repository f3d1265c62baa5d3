package main

import (
	"context"
	"time"
)

// size is the size of a scenario. Fields that a scenario does not use are zero.
type size struct {
	components int
	// dependents is the number of dependents of each component.
	dependents int
	waves      int
	// edits is the number of writes of another client.
	edits  int
	rounds int
	// length is the time in which nothing should happen.
	length time.Duration
}

func (s size) objects() int { return s.components * s.dependents }

// outcome holds the measurements of a scenario. They may be incomplete after an error.
type outcome struct {
	Parts []part
	// Notes contain results that are not figures.
	Notes []string
}

// scenario is a row of the table of budgets.
type scenario struct {
	number int
	// title and budget describe the full size.
	title, budget string
	full, quick   size
	// limits returns the budget as limits of figures.
	limits func(size) []limit
	run    func(ctx context.Context, b *bench, number int, s size) (outcome, error)
}

// These are the names of the parts of scenarios that have several parts.
const (
	partSSA     = "ssa-override"
	partReplace = "replace"
	partOne     = "of 1"
	partMany    = "of 3"
	partInstall = "install"
	partChange  = "change one"
	partRestart = "restart"
	partDelete  = "delete"
)

// scenarios is the table of budgets. The budgets are never adjusted to measured values.
var scenarios = []scenario{
	{
		number: 1,
		title:  "1 component, 1,000 ConfigMaps, 1 wave",
		budget: "1,004 requests; 1.3 × floor",
		full: size{
			components: 1,
			dependents: 1000,
			waves:      1,
			rounds:     5,
		},
		quick: size{components: 1, dependents: 200, waves: 1, rounds: 1},
		limits: func(s size) []limit {
			return []limit{{figure: figRequests, most: float64(s.dependents + 4)}, {figure: figFloors, most: 1.3}}
		},
		run: install,
	},
	{
		number: 2,
		title:  "1 component, 100 ConfigMaps, 10 waves",
		budget: "104 requests; 2 × floor",
		full: size{
			components: 1,
			dependents: 100,
			waves:      10,
			rounds:     5,
		},
		quick: size{components: 1, dependents: 100, waves: 10, rounds: 1},
		limits: func(s size) []limit {
			return []limit{{figure: figRequests, most: float64(s.dependents + 4)}, {figure: figFloors, most: 2}}
		},
		run: install,
	},
	{
		number: 3,
		title:  "200 components of 20 ConfigMaps",
		budget: "24 requests a component; 1.4 × floor",
		full: size{
			components: 200,
			dependents: 20,
			waves:      1,
			rounds:     5,
		},
		quick: size{components: 20, dependents: 20, waves: 1, rounds: 1},
		limits: func(s size) []limit {
			return []limit{{figure: figPerComponent, most: float64(s.dependents + 4)}, {figure: figFloors, most: 1.4}}
		},
		run: install,
	},
	{
		number: 4,
		title: "1,000 components of Deployment (0 replicas), ServiceAccount, Service, Ingress, " +
			"each with a service account of its own as identity",
		budget: "all Ready; 8 requests a component; report time and RSS; under 200 MiB",
		full:   size{components: 1000, dependents: 4},
		quick:  size{components: 50, dependents: 4},
		limits: func(s size) []limit {
			return []limit{
				{figure: figNotReady, most: 0},
				{figure: figPerComponent, most: float64(s.dependents + 4)},
				{figure: figPeak, most: 200, below: true},
			}
		},
		run: installApplications,
	},
	{
		number: 5,
		title:  "idle for 5 minutes after 4",
		budget: "0 requests but leases and watch renewals; under 1 % of a core",
		full:   size{length: 5 * time.Minute},
		quick:  size{length: 5 * time.Second},
		limits: func(size) []limit {
			return []limit{{figure: figRequests, most: 0}, {figure: figCores, most: 1, below: true}}
		},
		run: idle,
	},
	{
		number: 6, title: "operator restart after 4", budget: "a list and a watch per kind and no more; ready again in 3 s",
		limits: func(size) []limit {
			return []limit{
				{figure: figRequests, most: 0},
				{figure: figListsOfAKind, most: 1},
				{figure: figWatchesOfAKind, most: 1},
				{figure: figSeconds, most: 3},
			}
		},
		run: restart,
	},
	{
		number: 7,
		title:  "1 of 1,000 manifests changes",
		budget: "1 write to dependents + 3 (`replace`: 1 read more)",
		full: size{
			components: 1,
			dependents: 1000,
			waves:      1,
			rounds:     5,
		},
		quick: size{components: 1, dependents: 200, waves: 1, rounds: 1},
		limits: func(size) []limit {
			return []limit{
				{part: partSSA, figure: figDependentWrites, most: 1},
				{part: partSSA, figure: figRequests, most: 1 + 3},
				{part: partReplace, figure: figDependentWrites, most: 1},
				{part: partReplace, figure: figRequests, most: 1 + 3 + 1},
			}
		},
		run: change,
	},
	{
		number: 8,
		title:  "200 random foreign edits and deletes over 1,000 dependents of ten kinds",
		budget: "all repaired; p50 under 100 ms, p99 under 1 s; 1 write each",
		full: size{
			components: 1,
			dependents: 1000,
			edits:      200,
			rounds:     5,
		},
		quick: size{components: 1, dependents: 200, edits: 50, rounds: 1},
		limits: func(size) []limit {
			return []limit{
				{figure: figNotRepaired, most: 0},
				{figure: figP50, most: 100, below: true},
				{figure: figP99, most: 1000, below: true},
				{figure: figPerRepair, most: 1},
			}
		},
		run: repair,
	},
	{
		number: 9, title: "deletion of 1 and of 3", budget: "n + 4 requests a component; 1.3 × floor of bare deletes",
		limits: func(size) []limit {
			return []limit{
				{part: partOne, figure: figOverN, most: 4},
				{part: partOne, figure: figFloors, most: 1.3},
				{part: partMany, figure: figOverN, most: 4},
				{part: partMany, figure: figFloors, most: 1.3},
			}
		},
		run: remove,
	},
	{
		number: 10,
		title:  "10,000 dependents in one component: install, change one, restart, delete",
		budget: "works; time grows linearly from 1,000",
		full:   size{components: 1, dependents: 10_000, waves: 1},
		quick:  size{components: 1, dependents: 1000, waves: 1},
		limits: func(size) []limit {
			return []limit{
				{part: partInstall, figure: figTimesSmall, most: 10},
				{part: partChange, figure: figTimesSmall, most: 10},
				{part: partRestart, figure: figTimesSmall, most: 10},
				{part: partDelete, figure: figTimesSmall, most: 10},
			}
		},
		run: large,
	},
	{
		number: 11, title: "20,000 managed objects of ten kinds (2 KiB each)", budget: "live heap at most 6 KiB an object",
		full: size{components: 20, dependents: 1000}, quick: size{components: 10, dependents: 100},
		limits: func(size) []limit { return []limit{{figure: figHeapPerObject, most: 6}} },
		run:    remember,
	},
	{
		number: 12,
		title:  "a component that waits 60 s for a Deployment that never gets ready",
		budget: "at most 3 status writes",
		full: size{
			components: 1,
			dependents: 1,
			length:     time.Minute,
		},
		quick:  size{components: 1, dependents: 1, length: 5 * time.Second},
		limits: func(size) []limit { return []limit{{figure: figStatusWrites, most: 3}} },
		run:    stayUnready,
	},
	{
		number: 13,
		title:  "while 10 installs, a component of 20 is created",
		budget: "Ready within 2 × its time alone",
		full: size{
			components: 1,
			dependents: 10_000,
			waves:      1,
			rounds:     5,
		},
		quick:  size{components: 1, dependents: 1000, waves: 1, rounds: 3},
		limits: func(size) []limit { return []limit{{figure: figTimesAlone, most: 2}} },
		run:    beside,
	},
	{
		number: 14,
		title:  "a plan for a graph of 2,000 objects",
		budget: "20 ms",
		full:   size{rounds: 9},
		quick:  size{rounds: 3},
		limits: func(size) []limit { return mostOfEachPlan(20) },
		run:    planGraphs,
	},
}

// numbered returns the scenario with the given number.
func numbered(among []scenario, number int) (scenario, bool) {
	for _, s := range among {
		if s.number == number {
			return s, true
		}
	}
	return scenario{}, false
}
