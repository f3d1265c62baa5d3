package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/program"
)

func sampleReport() report {
	round := func(seconds float64, requests int) sample {
		return sample{Seconds: seconds, Elapsed: seconds + 1, CPUSeconds: 0.5, PeakRSS: 80, Requests: tally{
			classCounted: {"patch configmaps": requests, "update components/status": 2}, classWatch: {"watch configmaps": 1},
		}}
	}
	parts := []part{{
		Components: 1, Dependents: 1000, Rounds: []sample{round(1.5, 1000), round(1.2, 1001), round(1.9, 1000)},
		Floor: []floorTime{
			{Seconds: 1, Writers: 16, Post: 0.7},
			{Seconds: 1, Writers: 8, Post: 0.6},
			{Seconds: 1.25, Writers: 16, Post: 0.8},
		},
	}}
	s, _ := numbered(scenarios, 1)
	large, _ := numbered(scenarios, 10)
	steps := []part{{
		Name: partInstall, Components: 1, Rounds: []sample{round(15, 10_000)},
		Extra: map[figure]float64{figTimesSmall: 10},
	}}
	return report{
		Machine: machine{CPU: "Some CPU", Cores: 2, Go: "go1.26", Kubernetes: "v1.36.3", Operator: "v0.1.0"},
		Results: []result{
			{Number: 1, Scenario: s.title, Budget: s.budget, Parts: parts, Checks: judge(s.limits(s.full), parts)},
			{
				Number: 10, Scenario: large.title, Budget: large.budget, Parts: steps,
				Checks:  judge(large.limits(large.full), steps),
				Failure: "change one: the record is too large", Notes: []string{"said in addition"},
			},
		},
	}
}

func TestReportIsATableWithTheReasonsBelow(t *testing.T) {
	var out strings.Builder
	if err := sampleReport().write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", out.String())
}

func TestReportAsJSONCanBeRead(t *testing.T) {
	var out strings.Builder
	if err := sampleReport().writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	if err := sampleReport().write(&first); err != nil {
		t.Fatal(err)
	}
	if err := back.write(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("want the report\n%s\ngot\n%s", first.String(), second.String())
	}
}

func TestExitCodeTellsOfMissedBudgetsOnDemandAlone(t *testing.T) {
	r := sampleReport()
	if got := exitCode(r, nil, false); got != 0 {
		t.Errorf("the exit code without the flag -strict is %d, want 0", got)
	}
	if got := exitCode(r, nil, true); got != program.ExitFailed {
		t.Errorf("the exit code with the flag -strict is %d after a missed budget, want program.ExitFailed", got)
	}
	r.Results = nil
	if got := exitCode(r, nil, true); got != 0 {
		t.Errorf("the exit code with the flag -strict is %d although no budget was missed, want 0", got)
	}
}
