package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"

	"golang.org/x/tools/benchmark/parse"
)

// planned is a plan for a graph of about 2,000 objects that is measured.
type planned struct {
	// part is the name of the part of the scenario.
	part string
	// benchmark is the name of the Go benchmark in the folder planFolder.
	benchmark string
}

// planFolder contains the package that makes the plans. This program cannot import it, because it is internal.
const planFolder = "./pkg/component/internal/plan"

var plans = []planned{
	{part: "all new", benchmark: "BenchmarkForApplyOfAGraph/new"},
	{part: "all in sync", benchmark: "BenchmarkForApplyOfAGraph/in_sync"},
	{part: "a large group", benchmark: "BenchmarkForApplyOfALargeGroup"},
	{part: "the deletion begins", benchmark: "BenchmarkForDeleteOfAGraph"},
}

// mostOfEachPlan returns a limit of the time of each plan in milliseconds.
func mostOfEachPlan(most float64) []limit {
	limits := make([]limit, 0, len(plans))
	for _, p := range plans {
		limits = append(limits, limit{part: p.part, figure: figPlan, most: most})
	}
	return limits
}

// planGraphs measures the time of plans by Go benchmarks. A round is the mean of ten plans. No cluster runs meanwhile.
func planGraphs(ctx context.Context, b *bench, _ int, s size) (outcome, error) {
	if err := b.leaveStage(); err != nil {
		return outcome{}, err
	}
	command := exec.CommandContext(ctx, "go", "test", "-run", "-", "-bench", "OfAGraph|OfALargeGroup", "-benchtime", "10x",
		"-count", fmt.Sprint(s.rounds), planFolder)
	output, err := command.CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	times, err := planTimes(output)
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	for _, p := range plans {
		found := times[p.benchmark]
		if len(found) != s.rounds {
			return o, fmt.Errorf("%s was measured %d times, want %d", p.benchmark, len(found), s.rounds)
		}
		o.Parts = append(o.Parts, part{Name: p.part, Extra: map[figure]float64{figPlan: median(found)}})
		o.Notes = append(o.Notes, fmt.Sprintf("%s: %.1f ms (median of %d), %.1f to %.1f ms",
			p.part, median(found), len(found), slices.Min(found), largest(found)))
	}
	return o, nil
}

// processors is the end of the name of a benchmark: the number of processors, unless it is 1.
var processors = regexp.MustCompile(`-\d+$`)

// planTimes reads the output of Go benchmarks, and returns the milliseconds of each round by the name of the benchmark.
func planTimes(output []byte) (map[string][]float64, error) {
	set, err := parse.ParseSet(bytes.NewReader(output))
	if err != nil {
		return nil, fmt.Errorf("read the output of the benchmarks: %w", err)
	}
	times := map[string][]float64{}
	for name, rounds := range set {
		name = processors.ReplaceAllString(name, "")
		for _, round := range rounds {
			times[name] = append(times[name], round.NsPerOp/1e6)
		}
	}
	return times, nil
}
