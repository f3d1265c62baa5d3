package fuzzing

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

const (
	// maxStack is the maximum size of a stack. The operator has the same bound for its children.
	maxStack = 64 << 20
	// maxMemory is the maximum size of the heap, and softMemory the limit above which the garbage collector works harder,
	// unless the environment variable GOMEMLIMIT sets another one.
	maxMemory  = 1 << 30
	softMemory = 512 << 20
	// maxTime is the maximum time of an input. It is long, because machines that run tests can be slow.
	maxTime = time.Minute
	// checkInterval is the interval of the checks of memory and time.
	checkInterval = 20 * time.Millisecond
	// traceBytes is the maximum size of the printed stacks.
	traceBytes = 1 << 20
)

// Run is f.Fuzz(target), with bounds for each input. The bounds also apply in the processes that "go test -fuzz"
// starts, because these processes run the fuzz test, too.
func Run(f *testing.F, target any) {
	f.Helper()
	f.Cleanup(limitProcess())
	f.Fuzz(within(target, maxTime, maxMemory, exit))
}

// limitProcess sets the bounds that the Go runtime checks. The returned function restores the earlier bounds.
func limitProcess() (restore func()) {
	stack := debug.SetMaxStack(maxStack)
	memory := debug.SetMemoryLimit(-1)
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(softMemory)
	}
	return func() {
		debug.SetMaxStack(stack)
		debug.SetMemoryLimit(memory)
	}
}

// within returns a function with the type of target that calls target. It calls fail if the call takes too much time or
// memory.
func within(target any, limit time.Duration, memory uint64, fail func(reason string)) any {
	called := reflect.ValueOf(target)
	return reflect.MakeFunc(called.Type(), func(arguments []reflect.Value) []reflect.Value {
		defer watch(limit, memory, fail)()
		return called.Call(arguments)
	}).Interface()
}

// watch calls fail when the time is over, or when the heap is too large. The caller calls the returned function at the
// end of the input.
func watch(limit time.Duration, memory uint64, fail func(reason string)) (stop func()) {
	ended := make(chan struct{})
	go func() {
		deadline := time.NewTimer(limit)
		defer deadline.Stop()
		check := time.NewTicker(checkInterval)
		defer check.Stop()
		for {
			select {
			case <-ended:
				return
			case <-deadline.C:
				fail(fmt.Sprintf("the input takes longer than %s", limit))
				return
			case <-check.C:
				if used := heapBytes(); used > memory {
					fail(fmt.Sprintf("the input needs %d MiB, more than %d MiB", used>>20, memory>>20))
					return
				}
			}
		}
	}()
	return func() { close(ended) }
}

// heapBytes returns the size of the objects on the heap.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// exit ends the process, because a running call cannot be interrupted. "go test -fuzz" then reports the input.
func exit(reason string) {
	stacks := make([]byte, traceBytes)
	stacks = stacks[:runtime.Stack(stacks, true)]
	_, _ = fmt.Fprintf(os.Stderr, "fuzzing: %s\n%s\n", reason, stacks)
	os.Exit(2)
}
