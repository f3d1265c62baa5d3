package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/test/program"
)

// operator is a process of the operator.
type operator struct {
	process *program.Operator
	// profiles is where it serves them.
	profiles string
	// wanted says that its end is.
	wanted atomic.Bool
}

// statusInventory is how much of an inventory a status holds, in bytes, so that some are in Secrets, and some move
// there and back.
const statusInventory = 600

// startOperator starts the operator, unelected: the next one need not wait for the Lease of one that was killed.
func (w *world) startOperator() error {
	address, err := program.FreeAddress()
	if err != nil {
		return err
	}
	o := &operator{profiles: address}
	o.process, err = program.StartProgram(w.executable, w.log, []string{
		"--kubeconfig=" + w.kubeconfig, "--pprof-bind-address=" + address, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		fmt.Sprintf("--max-status-inventory-bytes=%d", statusInventory),
	}, func(cause error) {
		if !o.wanted.Load() {
			w.died <- cause
		}
	})
	if err != nil {
		return err
	}
	w.operator = o
	return nil
}

// endOperator ends the operator. Of one that does not end as it should, the last lines of its log are shown.
func (w *world) endOperator(end func(*operator) error) error {
	ended := w.operator
	w.operator = nil // It is ended once, whatever comes of that.
	err := end(ended)
	if err != nil {
		program.Tail(w.log, w.out)
	}
	return err
}

func (o *operator) stop() error {
	o.wanted.Store(true)
	return o.process.Stop()
}

func (o *operator) kill() error {
	o.wanted.Store(true)
	return o.process.Kill()
}

// goroutines returns the goroutines of the process, as text.
func (o *operator) goroutines(ctx context.Context) (string, error) {
	return program.Get(ctx, "http://"+o.profiles+"/debug/pprof/goroutine?debug=1")
}
