package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

// settings are the options of the command line.
type settings struct {
	duration   time.Duration
	seed       uint64
	only       string
	executable string
	out        io.Writer
}

// hostile makes a whole run. Its error lists the violations.
func hostile(ctx context.Context, of settings) error {
	w, err := newWorld(ctx, of)
	if err != nil {
		return err
	}
	w.say("seeds from %d, for %s; log of the operator: %s", of.seed, of.duration, w.log)
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go w.endWithOperator(watched, cancel)
	err = program.CauseOf(watched, w.live(watched))
	w.report()
	if err != nil && !errors.Is(err, program.ErrInterrupted) {
		err = fmt.Errorf("%w\n(logs: %s)", err, w.cluster.KeepLogs())
	}
	return errors.Join(err, w.end())
}

// live makes the attacks and the checks of a run.
func (w *world) live(ctx context.Context) error {
	if err := w.good.begin(ctx); err != nil {
		return err
	}
	before, err := w.strangers(ctx)
	if err != nil {
		return err
	}
	if w.before, err = w.operator.heap(ctx); err != nil {
		return err
	}
	if err := w.fight(ctx); err != nil {
		return err
	}
	w.say("%d hostile components were made; now they are deleted", w.attacker.made.sum())
	if err := w.attacker.leave(ctx); err != nil {
		return err
	}
	if err := w.rest(ctx); err != nil {
		return err
	}
	after, err := w.strangers(ctx)
	if err != nil {
		return err
	}
	for name := range after {
		if !before[name] {
			w.complain("%s appeared outside the namespaces of the tenants", name)
		}
	}
	w.complain1(crashes(w.log))
	if len(w.wrong) > 0 {
		return program.Violations(w.wrong)
	}
	return nil
}

// fight lets both tenants work until the duration is over.
func (w *world) fight(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	until := time.Now().Add(w.duration)
	ended := make(chan error, 2)
	for _, tenant := range []func(context.Context, time.Time) error{w.good.work, w.attacker.attack} {
		go func() {
			err := tenant(ctx, until)
			if err != nil {
				cancel(err)
			}
			ended <- err
		}()
	}
	if err := errors.Join(<-ended, <-ended); err != nil {
		return program.CauseOf(ctx, err)
	}
	return nil
}

// endWithOperator cancels the run if the operator ends.
func (w *world) endWithOperator(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case err := <-w.operator.died:
		program.Tail(w.log, w.out)
		cancel(program.Violations(append([]string{err.Error()}, w.wrong...)))
	case <-ctx.Done():
	}
}

// say prints the progress.
func (w *world) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.out, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// complain adds a violation.
func (w *world) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintf(w.out, "%s WRONG: %s\n", time.Now().Format(time.TimeOnly), w.wrong[len(w.wrong)-1])
}

// printAttack prints the component of a seed, and its other objects, with a placeholder for the address of the servers.
func printAttack(of settings, seed uint64) error {
	made := attackOf(seed, of.only, scene{servers: "http://127.0.0.1:0", clusters: "https://127.0.0.1:0"})
	_, _ = fmt.Fprintf(of.out, "# %s\n", made.kind)
	for _, object := range append(made.objects, made.component()) {
		// JSON is YAML, and has no limit of the length of a key.
		text, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(of.out, "---\n%s\n", text); err != nil {
			return err
		}
	}
	return nil
}
