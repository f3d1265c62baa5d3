//go:build long

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/program"
)

// The test runs in a separate process, because the operator must be started from the main thread of a process.
func TestAnOperatorTakesOverWhatTheSameVersionLeft(t *testing.T) {
	const root = "../../.."
	bin := filepath.Join("bin", "takeover")
	err := program.Build(t.Context(), root, bin+"/", "./cmd/fairlead-operator", "./test/lab/takeover")
	if err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(bin, "fairlead-operator")
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "takeover"), "-from", operator, "-to", operator)
	run.Dir = root
	// An interruption lets the process end its cluster.
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 30 * time.Second
	output, err := run.CombinedOutput()
	if err != nil || strings.Count(string(output), "writes: none") != 4 {
		t.Errorf("%v\n%s", err, output)
	}
}
