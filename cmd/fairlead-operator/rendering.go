package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/pkg/generator/isolate"
)

const (
	// minRenderingMemory is the least memory with which a child process can start and render a small chart.
	minRenderingMemory = 128 << 20
	// unlimited is a limit above which a control group has no limit: version 1 has a huge number instead of a text.
	unlimited = 1 << 50
)

// cgroupFiles have the memory limit of the control group of a container, in version 2 and in version 1.
var cgroupFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// renderingOptions are the flags for renderings in child processes, and for the memory of passes.
type renderingOptions struct {
	isolated  bool
	processes int
	memory    int64
	// budget is the memory of all passes together; 0 derives it from the memory limit.
	budget int64
}

// memoryLimit returns the memory limit of the container in bytes, or 0 without a limit.
func memoryLimit(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit < unlimited {
			return limit
		}
	}
	return 0
}

// divide divides the memory limit of the container among this process and its children. It returns the options of the
// children, or nil without children, and the memory budget of all passes, or 0 without a limit. It sets the memory
// limit of the Go runtime of this process, unless the environment variable GOMEMLIMIT sets it.
func (o renderingOptions) divide(limit int64) (isolation *isolate.Options, budget int64) {
	var own int64
	isolation, own = o.shares(limit, runtime.GOMAXPROCS(0))
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set && own != math.MaxInt64 {
		debug.SetMemoryLimit(own)
	}
	// A negative argument changes nothing.
	own = debug.SetMemoryLimit(-1)
	budget = o.budgetOf(own)
	if isolation != nil {
		ctrl.Log.Info("rendering in child processes", "processes", isolation.Processes, "memory", isolation.Memory,
			"ownMemoryLimit", own)
	}
	ctrl.Log.Info("memory for passes", "memoryBudget", budget)
	return isolation, budget
}

// budgetShare is the part of the memory limit of this process that passes may use: one half. The rest is for caches and
// for the objects that watches keep.
const budgetShare = 2

// budgetOf returns the memory budget of all passes for the memory limit of the Go runtime, or 0 without a limit.
func (o renderingOptions) budgetOf(own int64) int64 {
	switch {
	case o.budget != 0:
		return o.budget
	case own == math.MaxInt64:
		return 0
	}
	return own / budgetShare
}

// childrenShare is the part of the memory limit that the children have by default: one half.
const childrenShare = 2

// shares returns the options of the children, or nil without children, and the memory limit of the Go runtime of this
// process: nine tenths of the memory that the children leave. By default at least two children share their half, so
// that a long rendering leaves one process to others. Below 512 MiB only one child fits into it.
func (o renderingOptions) shares(limit int64, processors int) (*isolate.Options, int64) {
	if !o.isolated {
		return nil, ownShare(limit)
	}
	isolation := isolate.Options{Processes: o.processes, Memory: o.memory}
	bound := limit
	if limit == 0 {
		bound = math.MaxInt64
	}
	half := bound / childrenShare
	if isolation.Memory == 0 {
		wanted := int64(max(isolate.DefaultMinProcesses, isolation.Processes))
		isolation.Memory = max(minRenderingMemory, min(isolate.DefaultMemory, half/wanted))
	}
	if isolation.Processes == 0 {
		fitting := min(isolate.DefaultMaxProcesses, half/isolation.Memory)
		isolation.Processes = max(1, min(max(isolate.DefaultMinProcesses, processors), int(fitting)))
	}
	return &isolation, ownShare(limit - int64(isolation.Processes)*isolation.Memory)
}

func ownShare(left int64) int64 {
	if left <= 0 {
		return math.MaxInt64
	}
	return left / 10 * 9
}
