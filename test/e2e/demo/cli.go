package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const cliBinary = "bin/fairlead"

// fairlead runs the command line as the developer, and prints its output. It returns an error unless the exit code is
// wantCode.
func (w *world) fairlead(ctx context.Context, wantCode int, arguments ...string) error {
	w.command(append([]string{cliBinary}, arguments...)...)
	out := w.output()
	command := exec.CommandContext(ctx, cliBinary, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.developer)
	command.Stdout, command.Stderr = out, out
	// The command is in its own process group, so that Ctrl-C reaches only the demo, which then ends the command.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	err := command.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if code := command.ProcessState.ExitCode(); code != wantCode {
		return fmt.Errorf("%s %s: want exit code %d, got %d", cliBinary, strings.Join(arguments, " "), wantCode, code)
	}
	return nil
}
