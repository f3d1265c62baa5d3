package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

// timeout is the maximum duration of a scenario. A scenario normally ends much earlier.
const timeout = 30 * time.Minute

// settings are the options of the command line.
type settings struct {
	numbers  []int // empty means all
	quick    bool
	profiles string
	out      io.Writer
	// operators are the programs to compare. If the list is empty, only the program that make builds is measured.
	operators []string
}

// bench runs scenarios, one at a time, on the main thread.
type bench struct {
	settings
	scenarios    []scenario
	stage        *stage
	stageName    string
	lifecycles   map[int]lifecycle
	applications applications
	// program is the path of the measured operator.
	program string
	// label begins each line of progress if several operators are compared.
	label string
	// turn blocks until the benches of the other operators have made the same step. It is nil if a single operator is
	// measured.
	turn func()
	// kubernetes is the version of the clusters.
	kubernetes string
}

// run runs the selected scenarios. If a scenario fails, its result is a missed budget, and run continues with the next
// scenario. Only an interruption ends the run.
func (b *bench) run(ctx context.Context) (results []result, err error) {
	defer func() { err = errors.Join(err, b.leaveStage()) }()
	for _, s := range b.scenarios {
		if len(b.numbers) > 0 && !slices.Contains(b.numbers, s.number) {
			continue
		}
		b.awaitTurn()
		r := b.runOne(ctx, s)
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		results = append(results, r)
	}
	return results, nil
}

// awaitTurn blocks until the benches of the other operators have made the same step. A step is a scenario, or a round
// in a scenario.
func (b *bench) awaitTurn() {
	if b.turn != nil {
		b.turn()
	}
}

func (b *bench) runOne(ctx context.Context, s scenario) result {
	b.say("%d. %s", s.number, s.title)
	// The limit includes the turns of the other operators.
	limit := timeout * time.Duration(max(len(b.operators), 1))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	of := b.sizeOf(s.number)
	o, err := s.run(ctx, b, s.number, of)
	r := result{
		Number:   s.number,
		Scenario: s.title,
		Budget:   s.budget,
		Parts:    o.Parts,
		Notes:    o.Notes,
		Checks:   judge(s.limits(of), o.Parts),
	}
	if err != nil {
		r.Failure = err.Error()
		if b.stage != nil && !errors.Is(err, program.ErrInterrupted) {
			r.Failure += " (" + b.stage.lastWords() + ")"
		}
		// The next scenario must begin with a new stage.
		err = b.leaveStage()
	}
	if err != nil {
		r.Notes = append(r.Notes, "end of the stage: "+err.Error())
	}
	for _, line := range r.verdicts() {
		b.say("%s", line)
	}
	return r
}

// sizeOf returns the size of a scenario in this run.
func (b *bench) sizeOf(number int) size {
	s, _ := numbered(b.scenarios, number)
	if b.quick {
		return s.quick
	}
	return s.full
}

// onStage returns the stage with the given name: the current stage, or a new stage that replaces it.
func (b *bench) onStage(ctx context.Context, name string) (*stage, error) {
	if b.stage != nil && b.stageName == name {
		return b.stage, nil
	}
	if err := b.leaveStage(); err != nil {
		return nil, err
	}
	s, err := newStage(ctx, stageOptions{program: b.program, profiles: b.profiles, anyStatus: len(b.operators) > 0})
	if err != nil {
		return nil, err
	}
	b.stage, b.stageName = s, name
	b.kubernetes, err = serverVersion(s)
	return s, err
}

func (b *bench) leaveStage() error {
	if b.stage == nil {
		return nil
	}
	s := b.stage
	b.stage, b.applications = nil, applications{}
	return s.stop()
}

// say prints the progress.
func (b *bench) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.Contains(text[:min(4, len(text))], ". ") {
		text = "    " + text
	}
	if b.label != "" {
		text = "[" + b.label + "] " + text
	}
	_, _ = fmt.Fprintln(b.out, text)
}
