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
	// OperatorBinary is the path of the program that "make build" builds, from the project's root.
	OperatorBinary = "bin/fairlead-operator"
	// OperatorNamespace is the namespace of the operator's Lease.
	OperatorNamespace = "fairlead-system"
	// OperatorUser is the user name of the ServiceAccount in config/rbac.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":fairlead-operator"

	leaseName = "fairlead-operator"
	// stopTimeout is longer than the time that the operator waits for running passes before it ends.
	stopTimeout = 30 * time.Second
	// tailLines is the number of lines that Tail prints.
	tailLines = 20
)

// Operator is a running operator.
type Operator struct {
	command *exec.Cmd
	// done receives the result of Wait.
	done chan error
}

// OperatorIdentity returns credentials of the operator's ServiceAccount, with the rules of config/rbac.
func OperatorIdentity(ctx context.Context, cluster *testcluster.Cluster) (testcluster.User, error) {
	return cluster.User(ctx, OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+OperatorNamespace)
}

// StartOperator starts the operator, which appends to the log. ended is called when the process ends for any reason.
// StartOperator must be called from the main thread, because the process ends with the thread.
func StartOperator(log string, arguments []string, ended context.CancelCauseFunc) (*Operator, error) {
	return StartProgram(OperatorBinary, log, arguments, ended)
}

// StartProgram is like StartOperator with another executable.
func StartProgram(executable, log string, arguments []string, ended context.CancelCauseFunc) (*Operator, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // The process has its own file handle.
	o := &Operator{command: exec.Command(executable, arguments...), done: make(chan error, 1)}
	o.command.Stdout, o.command.Stderr = out, out
	// The process is in its own process group: Ctrl-C reaches only this program, which then ends the operator in order.
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

// Stop ends the operator by SIGTERM, like the kubelet, and returns when it has ended. It must be called once. If the
// process has just been started, it does not handle signals yet; then its end by the signal is not an error.
func (o *Operator) Stop() error {
	_ = o.command.Process.Signal(syscall.SIGTERM) // The process may have ended already.
	select {
	case err := <-o.done:
		status, ok := o.command.ProcessState.Sys().(syscall.WaitStatus)
		if err == nil || ok && status.Signaled() && status.Signal() == syscall.SIGTERM {
			return nil
		}
		return fmt.Errorf("wait for the operator to end: %w", err)
	case <-time.After(stopTimeout):
		_ = o.command.Process.Kill()
		return fmt.Errorf("the operator did not end within %s, and was killed: %w", stopTimeout, <-o.done)
	}
}

// Kill ends the operator by SIGKILL, which the operator cannot handle, and returns when it has ended. It must be called
// once, instead of Stop.
func (o *Operator) Kill() error {
	if err := o.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// The exit status of a killed process is expected.
	if err := <-o.done; err != nil && o.command.ProcessState == nil {
		return err
	}
	return nil
}

// WaitForLease waits until an operator holds the Lease.
func WaitForLease(ctx context.Context, admin client.Client) error {
	var last error
	err := wait.PollUntilContextTimeout(
		ctx,
		10*time.Millisecond,
		time.Minute,
		true,
		func(ctx context.Context) (bool, error) {
			lease := &coordinationv1.Lease{}
			last = admin.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: leaseName}, lease)
			if last == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
				last = errors.New("no operator holds the Lease")
			}
			return last == nil, nil
		},
	)
	if err != nil {
		return fmt.Errorf("wait for the operator's Lease: %w (%w)", err, last)
	}
	return nil
}

// Tail prints the last lines of a log.
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
