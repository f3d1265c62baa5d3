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
	// round is how long operations go on until all is looked at.
	round = 2 * time.Minute
	// calm is the share of the time, at its end, in which the operator is not killed: what it loses grip of must show
	// in one process.
	calm = 0.4
	// maxPause is the longest pause between two operations.
	maxPause = 150 * time.Millisecond
)

// settings say what to run.
type settings struct {
	duration   time.Duration
	seed       uint64
	executable string
	out        io.Writer
}

// violation is something that must not be.
type violation struct{ what []string }

func (v violation) Error() string {
	text := fmt.Sprintf("%d things are wrong:", len(v.what))
	for i, w := range v.what {
		if i == maxShown {
			return text + "\n  ..."
		}
		text += "\n  " + w
	}
	return text
}

// maxShown bounds how much is told of what is wrong.
const maxShown = 20

// soak runs everything. Its error tells what was wrong.
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

// live is the life of a world.
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
		what = append(what, "no inventory was ever in Secrets")
	}
	if len(what) > 0 {
		return violation{what}
	}
	return nil
}

// settleResidents creates the components that stay, and restarts the operator: what it holds then is what any process
// needs for them.
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

// trouble makes operations, round by round, until the time is over. The time in which all is looked at does not count.
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
		w.say("%d operations, %d components, all as they should be", w.done.sum(), len(w.population))
	}
	return nil
}

// pause returns after a while, or when the operator ended by itself.
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

// crash tells of an operator that ended by itself.
func (w *world) crash(cause error) error {
	program.Tail(w.log, w.out)
	return violation{[]string{cause.Error()}}
}

// say tells what happens, for those who wait.
func (w *world) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.out, format+"\n", args...)
}

func logBeside(kubeconfig string) string {
	return filepath.Join(filepath.Dir(kubeconfig), "operator.log")
}

// end stops everything.
func (w *world) end() error {
	var err error
	if w.operator != nil {
		err = w.operator.kill()
	}
	return errors.Join(err, w.cluster.Stop())
}
