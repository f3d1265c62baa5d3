package program

import (
	"errors"
	"fmt"
	"os"
)

// The exit codes of programs besides 0.
const (
	ExitFailed      = 1
	ExitBadUsage    = 2
	ExitInterrupted = 130 // as shells have it
)

// ExitCode tells people how a program ended, under its name, and returns its exit code.
func ExitCode(name string, err error) int {
	switch {
	case errors.Is(err, ErrInterrupted):
		_, _ = fmt.Fprintln(os.Stderr, "Interrupted; no process is left running.")
		return ExitInterrupted
	case err != nil:
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return ExitFailed
	}
	return 0
}
