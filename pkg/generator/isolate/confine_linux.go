package isolate

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxStack is the maximum size of a stack of a child. The default of Go, 1 GiB, is larger than the memory of a child.
	maxStack = 64 << 20
	// runtimeBytes is memory of the Go runtime that is mapped at the start, before anything is allocated.
	runtimeBytes = 128 << 20
	// openFiles is the number of descriptors that a child may have.
	openFiles = 32
)

// confine sets the bounds of the process. They cannot be taken back. confine returns the names of measures that the
// system does not support, and an error if a bound that every Linux has cannot be set.
func confine(s setup) (missing []string, err error) {
	// The garbage collector works harder before the memory is exceeded.
	debug.SetMemoryLimit(s.Memory / 10 * 9)
	debug.SetMaxStack(maxStack)
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"RLIMIT_DATA", unix.RLIMIT_DATA, uint64(s.Memory) + runtimeBytes},
		{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, 0},
		{"RLIMIT_CORE", unix.RLIMIT_CORE, 0},
		{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, openFiles},
	} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			return nil, fmt.Errorf("set %s: %w", limit.name, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set PR_SET_DUMPABLE: %w", err)
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on != 1 {
		missing = append(missing, "no_new_privs")
	}
	// The parent has restricted the files of this process with Landlock, if the system has it.
	if landlockVersion() < 1 {
		missing = append(missing, "Landlock")
	}
	if err := filterCalls(); err != nil {
		missing = append(missing, fmt.Sprintf("seccomp (%v)", err))
	}
	return missing, nil
}

// allowTime bounds the processor time until the end of the next rendering. The parent kills the process earlier; the
// bound holds if the parent cannot.
func allowTime(timeout time.Duration) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return
	}
	seconds := uint64(used.Utime.Sec+used.Stime.Sec) + uint64(timeout/time.Second+1)*uint64(runtime.GOMAXPROCS(0)+1)
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: unix.RLIM_INFINITY})
}
