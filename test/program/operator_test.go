package program_test

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/program"
)

func TestStopAcceptsAProcessThatHandlesNoSignalsYet(t *testing.T) {
	if err := start(t, "echo started; exec sleep 60").Stop(); err != nil {
		t.Errorf("a process that SIGTERM ended was reported as an error: %v", err)
	}
}

func TestStopTellsOfAProcessThatFailsAtItsEnd(t *testing.T) {
	err := start(t, "trap 'exit 3' TERM; echo started; while :; do sleep 0.1; done").Stop()
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the process ended with %v, want exit status 3", err)
	}
}

// start runs a shell script instead of an operator, and returns when it has printed its first line.
func start(t *testing.T, script string) *program.Operator {
	t.Helper()
	runtime.LockOSThread() // The process ends with the thread that started it.
	t.Cleanup(runtime.UnlockOSThread)
	log := filepath.Join(t.TempDir(), "log")
	o, err := program.StartProgram("/bin/sh", log, []string{"-c", script}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	for word := ""; word == ""; word = firstLine(t, log) {
		runtime.Gosched()
	}
	return o
}

func firstLine(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	scanner := bufio.NewScanner(file)
	scanner.Scan()
	return scanner.Text()
}
