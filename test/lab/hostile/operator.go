package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

const (
	mebibyte = 1 << 20
	// podMemory is the memory limit of the chart. The operator and its children together must not need more.
	podMemory = 2048
	// renderingMemory and ownMemory are the shares that the operator would read from its control group: 512 MiB for each
	// of two children, and nine tenths of the rest for the garbage collector.
	renderingMemory = 512
	ownMemory       = (podMemory - 2*renderingMemory) / 10 * 9
	// sampleInterval is the interval of the samples of the memory.
	sampleInterval = 100 * time.Millisecond
	// probeInterval, probeTimeout and maxFailedProbes are like the liveness probe of the chart.
	probeInterval   = 20 * time.Second
	probeTimeout    = time.Second
	maxFailedProbes = 3
)

// operator is the running process of the operator.
type operator struct {
	world   *world
	process *program.Operator
	// profiles is the address at which the process serves its profiles, and probes that of its health checks.
	profiles, probes string
	stopped          atomic.Bool
	// died receives the error if the process ends although it was not stopped.
	died chan error
	// peak is the largest memory of the process and its children, in MiB. slowestProbe is the longest time of a liveness
	// probe, and failedProbes the number of failed probes.
	peak         atomic.Int64
	slowestProbe atomic.Int64
	failedProbes atomic.Int64
}

// startOperator starts the operator with the flags of the chart, within the memory limit of the chart.
func startOperator(w *world) (*operator, error) {
	o := &operator{world: w, died: make(chan error, 1)}
	for _, address := range []*string{&o.profiles, &o.probes} {
		free, err := program.FreeAddress()
		if err != nil {
			return nil, err
		}
		*address = free
	}
	arguments := append([]string{
		"-c", fmt.Sprintf(`ulimit -d %d && GOMEMLIMIT=%dMiB exec "$0" "$@"`, podMemory<<10, ownMemory), w.executable,
	}, w.arguments...)
	var err error
	o.process, err = program.StartProgram("/bin/sh", w.log, append(arguments,
		"--kubeconfig="+w.kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address="+o.probes,
		"--pprof-bind-address="+o.profiles, "--allow-address=127.0.0.0/8",
		"--rendering-processes=2", fmt.Sprintf("--rendering-memory-bytes=%d", renderingMemory*mebibyte),
	), func(cause error) {
		if !o.stopped.Swap(true) {
			o.died <- cause
		}
	})
	if err != nil {
		return nil, err
	}
	go o.sample()
	go o.probe()
	return o, nil
}

func (o *operator) kill() error {
	o.stopped.Store(true)
	return o.process.Kill()
}

// sample notes the largest memory until the process ends.
func (o *operator) sample() {
	exceeded := false
	for ; !o.stopped.Load(); time.Sleep(sampleInterval) {
		used := o.memory()
		o.peak.Store(max(o.peak.Load(), int64(used)))
		if used > podMemory && !exceeded {
			o.world.complain("the operator and its children need %d MiB, more than the limit of the pod, %d", used, podMemory)
		}
		exceeded = used > podMemory
	}
}

// memory returns the memory of the process and its children in MiB, without files.
func (o *operator) memory() int {
	pid := strconv.Itoa(o.process.PID())
	total := anonymous(pid)
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		return total / mebibyte
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for child := range strings.FieldsSeq(string(children)) {
			total += anonymous(child)
		}
	}
	return total / mebibyte
}

// anonymous returns the anonymous memory of a process in bytes, and 0 if the process has ended.
func anonymous(pid string) int {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kibibytes, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			return kibibytes << 10
		}
	}
	return 0
}

// probe makes the requests of the kubelet until the process ends. The kubelet would restart the container after several
// failures in a row.
func (o *operator) probe() {
	client := http.Client{Timeout: probeTimeout}
	failures := 0
	for time.Sleep(probeInterval); !o.stopped.Load(); time.Sleep(probeInterval) {
		began := time.Now()
		response, err := client.Get("http://" + o.probes + "/healthz")
		o.slowestProbe.Store(max(o.slowestProbe.Load(), int64(time.Since(began))))
		if err == nil {
			_ = response.Body.Close()
			failures = 0
			continue
		}
		o.failedProbes.Add(1)
		if failures++; failures == maxFailedProbes {
			o.world.complain("%d liveness probes in a row failed: %v", failures, err)
		}
	}
}

// heap returns the size of the live heap in bytes.
func (o *operator) heap(ctx context.Context) (float64, error) {
	return program.LiveHeap(ctx, o.profiles)
}

// crashTexts are texts in the log of a Go program that crashed, or that recovered from a panic in a reconciler.
var crashTexts = []string{"fatal error: ", "panic: ", "Observed a panic", "SIGSEGV", "goroutine stack exceeds"}

// crashes returns the lines of a log that report a crash.
func crashes(log string) (lines []string, err error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 64*mebibyte)
	for scanner.Scan() {
		for _, text := range crashTexts {
			if strings.Contains(scanner.Text(), text) {
				lines = append(lines, fmt.Sprintf("the operator logged: %.300s", scanner.Text()))
				break
			}
		}
	}
	return lines, scanner.Err()
}
