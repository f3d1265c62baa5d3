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

// patience is how long a scenario may take: much longer than any should.
const patience = 30 * time.Minute

// settings say what to run.
type settings struct {
	numbers  []int // empty means all
	quick    bool
	profiles string
	out      io.Writer
	// operators are the programs that are compared; empty where the one that make builds is measured alone.
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
	// program is the operator that is measured.
	program string
	// label begins each line of progress where several operators are compared.
	label string
	// turn, where it is set, returns when this bench is to go on, after the benches of other operators had their turns.
	turn func()
	// kubernetes is the version of the clusters.
	kubernetes string
}

// run runs the chosen scenarios. A scenario that fails misses its budget, and the next one is run; only an interruption
// ends the run.
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

// awaitTurn lets the benches of other operators make the same step. The steps are scenarios, and within them rounds.
func (b *bench) awaitTurn() {
	if b.turn != nil {
		b.turn()
	}
}

func (b *bench) runOne(ctx context.Context, s scenario) result {
	b.say("%d. %s", s.number, s.title)
	// The other operators' turns are part of the time.
	limit := patience * time.Duration(max(len(b.operators), 1))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	of := b.sizeOf(s.number)
	o, err := s.run(ctx, b, s.number, of)
	r := result{Number: s.number, Scenario: s.title, Budget: s.budget, Parts: o.Parts, Notes: o.Notes, Checks: judge(s.limits(of), o.Parts)}
	if err != nil {
		r.Failure = err.Error()
		if b.stage != nil && !errors.Is(err, program.ErrInterrupted) {
			r.Failure += " (" + b.stage.lastWords() + ")"
		}
		// What comes next begins on a stage of its own.
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

// sizeOf returns how large a scenario is in this run.
func (b *bench) sizeOf(number int) size {
	s, _ := numbered(b.scenarios, number)
	if b.quick {
		return s.quick
	}
	return s.full
}

// onStage returns the stage of that name: the current one, or a new one in its place.
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

// say tells what happens, for those who wait.
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
