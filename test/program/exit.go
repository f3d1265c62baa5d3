package program

import (
	"errors"
	"fmt"
	"os"
)

// These are the exit codes of programs, except 0.
const (
	ExitFailed      = 1
	ExitBadUsage    = 2
	ExitInterrupted = 130 // the exit code of shells after SIGINT
)

// ExitCode prints how the program with the given name ended, and returns its exit code.
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
