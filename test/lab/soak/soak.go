package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

const (
	// round is the duration of the operations between two checks of all objects.
	round = 2 * time.Minute
	// calm is the share of the whole time, at the end of a run, in which the operator is not killed. During this time,
	// leaks add up in a single process.
	calm = 0.4
	// maxPause is the longest pause between two operations.
	maxPause = 150 * time.Millisecond
)

// settings are the options of the command line.
type settings struct {
	duration   time.Duration
	seed       uint64
	executable string
	out        io.Writer
}

// soak makes a whole run. Its error lists the violations.
func soak(ctx context.Context, of settings) error {
	w, err := newWorld(ctx, of)
	if err != nil {
		return err
	}
	w.say("seed %d, for %s", of.seed, of.duration)
	err = w.live(ctx)
	w.report(of.out)
	if err != nil && !errors.Is(err, program.ErrInterrupted) {
		err = fmt.Errorf("%w\n(seed %d; logs: %s)", err, of.seed, w.cluster.KeepLogs())
	}
	return errors.Join(err, w.end())
}

// live makes the operations and checks of a run.
func (w *world) live(ctx context.Context) error {
	err := w.settleResidents(ctx)
	if err != nil {
		return err
	}
	if w.before, err = w.measure(ctx); err != nil {
		return err
	}
	if err := w.trouble(ctx); err != nil {
		return err
	}
	if err := w.removeGuests(ctx); err != nil {
		return err
	}
	if err := w.quiesce(ctx); err != nil {
		return err
	}
	if w.after, err = w.measure(ctx); err != nil {
		return err
	}
	what := w.before.exceededBy(w.after)
	if w.spilled == 0 {
		what = append(what, "no inventory was stored in Secrets at any check")
	}
	if len(what) > 0 {
		return program.Violations(what)
	}
	return nil
}

// settleResidents creates the residents, and restarts the operator. The resources of the new process are the reference
// for the comparison at the end.
func (w *world) settleResidents(ctx context.Context) error {
	for _, s := range shapes {
		if err := w.create(ctx, resident+s.name, s); err != nil {
			return err
		}
	}
	if err := w.quiesce(ctx); err != nil {
		return err
	}
	if err := w.endOperator((*operator).stop); err != nil {
		return err
	}
	if err := w.startOperator(); err != nil {
		return err
	}
	return w.quiesce(ctx)
}

// trouble makes operations in rounds until the duration is over. The time of the checks is not included.
func (w *world) trouble(ctx context.Context) error {
	for left := w.duration; left > 0; left -= round {
		this := min(left, round)
		end := time.Now().Add(this)
		for time.Now().Before(end) {
			remaining := left - this + time.Until(end)
			w.killing = remaining > time.Duration(calm*float64(w.duration))
			if err := w.operate(ctx); err != nil {
				return err
			}
			if err := w.pause(ctx); err != nil {
				return err
			}
		}
		if err := w.quiesce(ctx); err != nil {
			return err
		}
		w.say("%d operations, %d components, all in the wanted state", w.done.sum(), len(w.population))
	}
	return nil
}

// pause waits for a random time. It returns an error if the operator ends.
func (w *world) pause(ctx context.Context) error {
	select {
	case <-time.After(time.Duration(w.random.Int64N(int64(maxPause)))):
		return nil
	case err := <-w.died:
		return w.crash(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// crash returns the error for an operator that ended without being stopped.
func (w *world) crash(cause error) error {
	program.Tail(w.log, w.out)
	return program.Violations{cause.Error()}
}

// say prints the progress.
func (w *world) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.out, format+"\n", args...)
}

func logBeside(kubeconfig string) string {
	return filepath.Join(filepath.Dir(kubeconfig), "operator.log")
}

// end stops the operator and the cluster.
func (w *world) end() error {
	var err error
	if w.operator != nil {
		err = w.operator.kill()
	}
	return errors.Join(err, w.cluster.Stop())
}
