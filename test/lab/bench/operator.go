package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"

	"github.com/fairlead-io/fairlead/test/program"
)

const mebibyte = 1 << 20

// operator is the program under test. It runs as in production, with leader election and with the default limits.
type operator struct {
	process          *program.Operator
	metrics, profile string // addresses
	stopping         atomic.Bool
	// died receives the error if the operator ends although the benchmark did not stop it.
	died chan error
}

func launch(executable, kubeconfig, log string) (*operator, error) {
	metrics, err := program.FreeAddress()
	if err != nil {
		return nil, err
	}
	profile, err := program.FreeAddress()
	if err != nil {
		return nil, err
	}
	o := &operator{metrics: metrics, profile: profile, died: make(chan error, 1)}
	o.process, err = program.StartProgram(executable, log, []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect",
		"--leader-election-namespace=" + program.OperatorNamespace,
		"--metrics-bind-address=" + metrics,
		"--metrics-secure=false",
		"--pprof-bind-address=" + profile,
		"--health-probe-bind-address=0",
	}, func(cause error) {
		if !o.stopping.Load() {
			o.died <- cause
		}
	})
	return o, err
}

func (o *operator) stop() error {
	o.stopping.Store(true)
	return o.process.Stop()
}

// usage contains the resources that the process has used since it started.
type usage struct {
	pid        int
	cpuSeconds float64
	peakRSS    float64 // MiB, since forgetPeak
	passes     int
}

func (o *operator) usage(ctx context.Context) (usage, error) {
	process, err := procfs.NewProc(o.process.PID())
	if err != nil {
		return usage{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := process.NewStatus()
	if err != nil {
		return usage{}, err
	}
	work, err := o.work(ctx)
	return usage{
		pid:        process.PID,
		cpuSeconds: stat.CPUTime(),
		peakRSS:    float64(status.VmHWM) / mebibyte,
		passes:     work.passes,
	}, err
}

// forgetPeak resets the measured peak.
func (o *operator) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", o.process.PID()), []byte("5"), 0)
}

// work is the progress of the operator.
type work struct {
	passes          int
	waiting, active int
}

// work reads the operator's metrics.
func (o *operator) work(ctx context.Context) (work, error) {
	body, err := program.Get(ctx, "http://"+o.metrics+"/metrics")
	if err != nil {
		return work{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return work{}, fmt.Errorf("metrics of the operator: %w", err)
	}
	return work{
		passes:  total(families["controller_runtime_reconcile_total"]),
		waiting: total(families["workqueue_depth"]),
		active:  total(families["controller_runtime_active_workers"]),
	}, nil
}

// total returns the sum of a counter or a gauge over all labels.
func total(family *dto.MetricFamily) int {
	var sum float64
	for _, metric := range family.GetMetric() {
		sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return int(sum)
}

// liveHeap returns the number of bytes in use after a garbage collection.
func (o *operator) liveHeap(ctx context.Context) (float64, error) {
	return program.LiveHeap(ctx, o.profile)
}
