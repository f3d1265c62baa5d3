package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOperatorsCanBeGivenSeveralTimes(t *testing.T) {
	var operators paths
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&operators, "operator", "")
	if err := flags.Parse([]string{"-operator", "bin/old", "-operator=bin/new"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(paths{"bin/old", "bin/new"}, operators); diff != "" {
		t.Error(diff)
	}
	if err := flags.Parse([]string{"-operator="}); err == nil || !strings.Contains(err.Error(), "the path is empty") {
		t.Errorf("the flag -operator accepted an empty path, or returned the wrong error: %v", err)
	}
}

func TestNumbersOfComparedScenariosAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		chosen, want []int
		message      string
	}{
		"all scenarios by default":  {nil, comparedScenarios, ""},
		"the scenarios in the flag": {[]int{3, 9}, []int{3, 9}, ""},
		"a scenario that does not compare operators": {
			[]int{1, 5},
			nil,
			"scenario 5 does not compare operators; the scenarios that do are 1, 2, 3, 4, 6, 8, 9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := comparedNumbers(test.chosen)
			if diff := cmp.Diff(test.want, got); diff != "" || message(err) != test.message {
				t.Errorf("comparedNumbers returned the error %v and the wrong scenarios:\n%s", err, diff)
			}
		})
	}
}

func TestLabelsOfOperatorsAreShortAndDifferent(t *testing.T) {
	for name, test := range map[string]struct{ paths, want []string }{
		"unique names of files":         {[]string{"bin/old", "/tmp/new"}, []string{"old", "new"}},
		"paths with the same file name": {[]string{"a/op", "b/op", "new"}, []string{"a/op", "b/op", "new"}},
		"the same path twice":           {[]string{"a/op", "a/op"}, []string{"a/op", "a/op (2)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, labels(test.paths)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTurnsReverseTheirOrderEachTime(t *testing.T) {
	for name, test := range map[string]struct {
		turns []int // of each participant
		want  string
	}{
		"none":  {nil, ""},
		"one":   {[]int{2}, "a1 a2"},
		"two":   {[]int{3, 3}, "a1 b1 b2 a2 a3 b3"},
		"three": {[]int{2, 2, 2}, "a1 b1 c1 c2 b2 a2"},
		"three runs, of which one run ends early": {[]int{3, 1, 3}, "a1 b1 c1 c2 a2 a3 c3"},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []string // No lock is needed, because only one participant runs at a time.
			takeTurns(len(test.turns), func(i int, turn func()) {
				for n := range test.turns[i] {
					if n > 0 {
						turn()
					}
					steps = append(steps, fmt.Sprintf("%c%d", 'a'+i, n+1))
				}
			})
			if got := strings.Join(steps, " "); got != test.want {
				t.Errorf("want the order of steps %q, got %q", test.want, got)
			}
		})
	}
}

func TestBenchesTakeTurnsByScenarioAndRound(t *testing.T) {
	var steps []string
	takeTurns(2, func(i int, turn func()) {
		b := &bench{settings: settings{out: io.Discard}, turn: turn}
		step := func(_ context.Context, b *bench, number int, s size) (outcome, error) {
			for round := range s.rounds {
				b.awaitTurn()
				steps = append(steps, fmt.Sprintf("%c%d.%d", 'a'+i, number, round+1))
			}
			return outcome{}, nil
		}
		for number := 1; number <= 2; number++ {
			b.scenarios = append(b.scenarios, scenario{
				number: number, full: size{rounds: 2}, limits: func(size) []limit { return nil }, run: step,
			})
		}
		if _, err := b.run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if got, want := strings.Join(steps, " "), "a1.1 b1.1 b1.2 a1.2 b2.1 a2.1 a2.2 b2.2"; got != want {
		t.Errorf("want the order of steps %q, got %q", want, got)
	}
}

func TestAProgramIsCopiedWithTheRightToRunIt(t *testing.T) {
	to := filepath.Join(t.TempDir(), "true")
	if err := copyProgram(to, "/bin/true"); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), to).Run(); err != nil {
		t.Error(err)
	}
	if err := copyProgram(to, "/bin/true"); err == nil {
		t.Error("copyProgram overwrote an existing file")
	}
}

func sampleComparison() report {
	r := sampleReport()
	r.Machine.Operator = ""
	faster := sampleReport().Results
	for i := range faster[0].Parts[0].Rounds {
		round := &faster[0].Parts[0].Rounds[i]
		round.Seconds, round.PeakRSS, round.CPUSeconds = round.Seconds/2, 60, 0.25
		round.Requests = tally{classCounted: {"patch configmaps": 900}}
	}
	faster[0].Checks = judge(scenarios[0].limits(scenarios[0].full), faster[0].Parts)
	faster[1].Failure, faster[1].Notes = "", nil
	r.Compared = []compared{
		{Operator: "old", Path: "bin/old", Version: "v1", Results: r.Results},
		{Operator: "new", Path: "bin/new", Version: "v2", Results: faster},
		{Operator: "interrupted", Path: "bin/interrupted", Version: "v3", Results: faster[:1]},
	}
	r.Results = nil
	return r
}

func TestComparisonHasRatiosToTheFirstOperator(t *testing.T) {
	var out strings.Builder
	if err := sampleComparison().write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.txt", out.String())
}

func TestExitCodeOfAComparisonCountsAllOperators(t *testing.T) {
	r := sampleComparison()
	if got := exitCode(r, nil, true); got == 0 {
		t.Error("the exit code is 0, although the second operator missed a budget")
	}
	if r.empty() || !(report{Compared: []compared{{}}}).empty() {
		t.Error("empty must return false for a report with results, and true for a report without results")
	}
}
