package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

const (
	// OperatorBinary is what "make build" makes, seen from the project's root.
	OperatorBinary = "bin/fairlead-operator"
	// OperatorNamespace holds the operator's Lease.
	OperatorNamespace = "fairlead-system"
	// OperatorUser is how the API server sees the ServiceAccount of config/rbac.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":fairlead-operator"

	leaseName = "fairlead-operator"
	// stopPatience is longer than the operator gives the passes that are under way.
	stopPatience = 30 * time.Second
	// tailLines is how much of a log is shown.
	tailLines = 20
)

// Operator is a running operator.
type Operator struct {
	command *exec.Cmd
	// done gets what Wait returned.
	done chan error
}

// OperatorIdentity returns credentials of the operator's ServiceAccount, whose rules config/rbac holds.
func OperatorIdentity(ctx context.Context, cluster *testcluster.Cluster) (testcluster.User, error) {
	return cluster.User(ctx, OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+OperatorNamespace)
}

// StartOperator starts the process, which appends to the log; ended is called when it ends, wanted or not. It must be
// called from the main thread, with which the process ends.
func StartOperator(log string, arguments []string, ended context.CancelCauseFunc) (*Operator, error) {
	return StartProgram(OperatorBinary, log, arguments, ended)
}

// StartProgram is StartOperator for another executable of the operator.
func StartProgram(executable, log string, arguments []string, ended context.CancelCauseFunc) (*Operator, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // The process has a handle of its own.
	o := &Operator{command: exec.Command(executable, arguments...), done: make(chan error, 1)}
	o.command.Stdout, o.command.Stderr = out, out
	// A group of its own: Ctrl-C is for this program, which ends the operator in order.
	o.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := o.command.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		err := o.command.Wait()
		ended(fmt.Errorf("the operator ended by itself: %s", o.command.ProcessState))
		o.done <- err
	}()
	return o, nil
}

// PID is the id of the process.
func (o *Operator) PID() int { return o.command.Process.Pid }

// Stop ends the operator as kubelet does, and returns when it is gone. It is called once. A process that has only been
// started handles no signals yet: that the signal itself ends it, before it has done anything, is no failure.
func (o *Operator) Stop() error {
	_ = o.command.Process.Signal(syscall.SIGTERM) // It may be gone already.
	select {
	case err := <-o.done:
		status, ok := o.command.ProcessState.Sys().(syscall.WaitStatus)
		if err == nil || ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
			return nil
		}
		return fmt.Errorf("the operator's end: %w", err)
	case <-time.After(stopPatience):
		_ = o.command.Process.Kill()
		return fmt.Errorf("the operator did not end within %s, and was killed: %w", stopPatience, <-o.done)
	}
}

// Kill ends the operator by SIGKILL, which it cannot notice, and returns when it is gone. It is called once, instead of
// Stop.
func (o *Operator) Kill() error {
	if err := o.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// How it ends is no news.
	if err := <-o.done; err != nil && o.command.ProcessState == nil {
		return err
	}
	return nil
}

// WaitForLease returns when an operator holds the Lease.
func WaitForLease(ctx context.Context, admin client.Client) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		last = admin.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: leaseName}, lease)
		if last == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			last = errors.New("nobody holds it")
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the operator's Lease: %w (%w)", err, last)
	}
	return nil
}

// Tail shows the last lines of a log.
func Tail(path string, out io.Writer) {
	content, err := os.ReadFile(path)
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	for _, line := range lines[max(0, len(lines)-tailLines):] {
		_, _ = fmt.Fprintf(out, "%s\n", line)
	}
}
