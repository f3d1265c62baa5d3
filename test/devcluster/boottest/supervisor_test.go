// Package boottest tests the built binary of the dev cluster.
package boottest

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// supervisor is a running "devcluster up".
type supervisor struct {
	dir     string
	command *exec.Cmd
	ready   string // the line that it printed when the cluster was ready
}

func binary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	path, err := filepath.Abs("../../../bin/devcluster")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the dev cluster is not built, run 'make cluster': %v", err)
	}
	return path
}

func up(t *testing.T, arguments ...string) supervisor {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster")
	command := exec.Command(binary(t), append([]string{"up", "--dir", dir}, arguments...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = command.Wait()
		t.Fatalf("the cluster did not report that it is ready: %v; %s", err, &stderr)
	}
	t.Log(strings.TrimSpace(line))
	return supervisor{dir: dir, command: command, ready: line}
}

// end sends a signal and returns the exit code, or -1 for a killed process.
func (s supervisor) end(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	err := s.command.Wait()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return s.command.ProcessState.ExitCode()
}

// components lists the processes, except the supervisor, whose command lines contain the cluster's folder.
func (s supervisor) components(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), s.dir) {
			continue // The process belongs to another user, or has ended.
		}
		if name, _, _ := strings.Cut(string(line), "\x00"); !strings.HasSuffix(name, "/devcluster") {
			names = append(names, name)
		}
	}
	return names
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("this did not happen within 30 s: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
