package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/test/program"
)

// operator is a running process of the operator.
type operator struct {
	process *program.Operator
	// profiles is the address at which the process serves its profiles.
	profiles string
	// wanted is set if the process is ended on purpose.
	wanted atomic.Bool
}

// statusInventory is the maximum size in bytes of an inventory in a status. It is small, so that some inventories are
// in Secrets, and some move between status and Secrets.
const statusInventory = 600

// startOperator starts the operator without leader election, so that it need not wait for the Lease of a killed
// operator.
func (w *world) startOperator() error {
	address, err := program.FreeAddress()
	if err != nil {
		return err
	}
	o := &operator{profiles: address}
	o.process, err = program.StartProgram(w.executable, w.log, []string{
		"--kubeconfig=" + w.kubeconfig,
		"--pprof-bind-address=" + address,
		"--metrics-bind-address=0",
		"--health-probe-bind-address=0",
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

// endOperator ends the operator. If the operator does not end as expected, the last lines of its log are printed.
func (w *world) endOperator(end func(*operator) error) error {
	ended := w.operator
	w.operator = nil // It is ended only once, also after an error.
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
